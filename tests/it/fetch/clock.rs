//! A clock that is wrong, as on a machine without a battery for it: every certificate is of the future.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::process::{Process, says, until, write_site};
use super::server::{Server, serve};
use super::tls::{AUTHORITY, FUTURE, VALID};
use super::{World, firmware, local, spec};

#[tokio::test]
async fn a_certificate_that_is_not_valid_yet_is_named_and_tried_again_by_itself() {
    local(async || {
        let (mut world, bytes) = (World::eager(), firmware(1000));
        world.uplink.ca_files = vec![AUTHORITY.into()];
        let file = bytes.clone();
        let certificate = |n| if n < 2 { FUTURE } else { VALID };
        let server = Server::start_tls(move |_, request| serve(request, &file, "\"a\""), certificate).await;
        let mut running = world.start(&spec(&bytes, &[server.url("/os").replace("http:", "https:")]));
        let why = format!("{:?}", running.next().await);
        assert!(why.contains("not valid yet by this machine's clock"), "{why}");
        running.verified().await;
    })
    .await;
}

/// Puts what is in a file, in seconds, onto the wall clock of whoever loads it.
const SHIM: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *ts) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(id, ts);
    if (result || id != CLOCK_REALTIME) return result;
    FILE *file = fopen(getenv("CLOCK_FILE"), "r");
    long seconds = 0;
    if (file) { if (fscanf(file, "%ld", &seconds) == 1) ts->tv_sec += seconds; fclose(file); }
    return 0;
}
"#;

fn shim(dir: &Path) -> String {
    fs::write(dir.join("shim.c"), SHIM).unwrap();
    let library = dir.join("shim.so");
    let built = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(dir.join("shim.c")).status();
    assert!(built.unwrap().success(), "cc, which links Rust programs too");
    library.to_str().unwrap().to_owned()
}

/// The real process, started in 1970, until somebody sets its clock.
#[tokio::test]
async fn a_process_that_starts_in_1970_fetches_once_its_clock_is_set() {
    local(async || {
        let (world, bytes) = (World::new(), firmware(100_000));
        let (dir, file) = (world.state.path(), bytes.clone());
        let server = Server::start_tls(move |_, request| serve(request, &file, "\"a\""), |_| VALID).await;
        let url = server.url("/os.swu").replace("http:", "https:");
        let spec = spec(&bytes, std::slice::from_ref(&url));
        write_site(dir, &format!("caFiles: [\"{AUTHORITY}\"]"), "0", &[(&spec, &url)]);
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        let (clock, library) = (dir.join("clock"), shim(dir));
        fs::write(&clock, format!("-{}", now - 100)).unwrap();
        let environment = [("LD_PRELOAD", library.as_str()), ("CLOCK_FILE", clock.to_str().unwrap())];
        let _process = Process::start_in(dir, &[], &environment);
        says(dir, "not valid yet by this machine's clock; it is tried again").await;
        assert!(server.requests().is_empty());
        fs::write(&clock, "0").unwrap();
        until(dir, "the artifact", || world.file(&spec, "").exists()).await;
    })
    .await;
}
