//! `lamplighter artifacts` and `lamplighter verify`: what lies in the cache, and whether it is what it should be.

use std::fs;
use std::path::PathBuf;

use super::eventually;
use super::site::{Site, digest, firmware, rollout};
use super::words::calm;

/// Two rollouts that want the same firmware, and one whose firmware is not there.
fn site_with_three_rollouts(firmware: &[u8]) -> Site {
    let site = Site::new();
    site.put("fw.bin", firmware);
    let named = |manifest: String, name: &str| manifest.replace("name: press-fw", &format!("name: {name}"));
    site.put("a.yaml", rollout("2.0.0", firmware, ""));
    site.put("b.yaml", named(rollout("2.0.0", firmware, ""), "again"));
    site.put("c.yaml", named(rollout("3.0.0", &vec![1; 70_000], ""), "late").replace("fw.bin", "late.bin"));
    site
}

fn in_cache(site: &Site, name: &str) -> PathBuf {
    site.state().join("artifacts/sha256").join(name)
}

#[test]
fn the_cache_is_listed_with_who_wants_what_while_the_site_runs_and_after() {
    let firmware = firmware(6, 150_000);
    let site = site_with_three_rollouts(&firmware);
    site.start();
    let states = || site.ask("/v1/artifacts").to_string();
    eventually("one is there and one is not", || {
        (states().contains("Verified") && states().contains("Failed")).then_some(())
    });
    let hex = digest(&firmware);
    fs::write(in_cache(&site, &format!("{hex}.damaged-1")), [0; 512]).unwrap();
    fs::write(in_cache(&site, &"0".repeat(64)), [0; 1024]).unwrap();
    let text = |text: String| {
        let text = text.replace(&site.path("manifests").display().to_string(), "DIR");
        let lines = text.lines().map(|line| line.split_once("tried again ").map_or(line, |(begin, _)| begin));
        lines.map(|line| line.to_owned() + "\n").collect::<String>()
    };
    insta::assert_snapshot!(text(site.cli(&["artifacts"]).good()), @"
    SHA256                  ARTIFACT  SIZE        STATE     KEPT FOR
    000000000000            -         1.00 KiB    Unwanted  nothing: it can go
    267ccbdc4e1d            fw 3.0.0  68.36 KiB   Failed    late
    a066acf49fe8            fw 2.0.0  146.48 KiB  Verified  again, press-fw
    a066acf49fe8.damaged-1  -         512 B       Damaged   you to look at, and to remove
    267ccbdc4e1d: DIR/late.bin does not exist; put it there
    267ccbdc4e1d: 

    2 artifacts in the cache, 147.98 KiB
    ");
    let json: serde_json::Value = serde_json::from_str(&site.cli(&["artifacts", "-o", "json"]).good()).unwrap();
    let it = json["artifacts"].as_array().unwrap().iter().find(|it| it["digest"] == format!("sha256:{hex}")).unwrap();
    assert_eq!(it["rollouts"], serde_json::json!(["again", "press-fw"]));
    assert_eq!(json["others"][0]["file"], format!("{hex}.damaged-1"));

    site.stop();
    fs::remove_file(in_cache(&site, &hex)).unwrap();
    let at_rest = site.cli(&["artifacts"]);
    assert_eq!(at_rest.code, Some(0));
    insta::assert_snapshot!(calm(&site, &at_rest.out, &[]), @"
    the site does not run; its store was last written [time] ago, at 2026-12-01T06:30:00Z

    SHA256                  ARTIFACT  SIZE        STATE     KEPT FOR
    000000000000            -         1.00 KiB    Unwanted  nothing: it can go
    267ccbdc4e1d            fw 3.0.0  68.36 KiB   Wanted    late
    a066acf49fe8            fw 2.0.0  146.48 KiB  Missing   again, press-fw
    a066acf49fe8.damaged-1  -         512 B       Damaged   you to look at, and to remove

    1 artifact in the cache, 1.50 KiB
    ");
}

#[test]
fn a_cache_with_a_damaged_artifact_is_told_and_left_as_it_is() {
    let firmware = firmware(7, 150_000);
    let site = Site::with_one_gateway(&firmware);
    eventually("it is cached", || site.ask("/v1/artifacts").to_string().contains("Verified").then_some(()));
    insta::assert_snapshot!(site.cli(&["verify", "--cache"]).good(), @"
    sha256:fe72c1db68cb7a8778ca9f1716a03b1834dca2baa166163ab53d9dd588b4c85b ok
    1 artifact, 146.48 KiB: every byte is as it was
    ");
    let path = in_cache(&site, &digest(&firmware));
    let mut bytes = firmware.clone();
    bytes[100_000] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let damaged = site.cli(&["verify", "--cache"]);
    assert_eq!((damaged.code, damaged.err.as_str()), (Some(1), ""));
    insta::assert_snapshot!(damaged.out, @"
    sha256:fe72c1db68cb7a8778ca9f1716a03b1834dca2baa166163ab53d9dd588b4c85b damaged: its bytes have sha256:9eb6df0cdf86d30339791bf8d4a63d210059eaafef4cd112d50fad2766f6ea20
    1 of 1 artifact is not good: check the disk, then restart the site; it sets a damaged one that it wants aside, and gets it anew
    ");
    assert!(fs::read(&path).unwrap() == bytes);

    let nowhere = site.cli(&["verify", "--cache", "--state", "/nowhere"]);
    assert_eq!(nowhere.code, Some(2));
    insta::assert_snapshot!(nowhere.err, @"lamplighter: cannot read /nowhere/artifacts/sha256: No such file or directory (os error 2); is `--config` or `--state` the one of your site?");
}

#[test]
fn a_file_is_compared_with_the_rollouts_that_mean_it() {
    let firmware = firmware(8, 50_000);
    let site = site_with_three_rollouts(&firmware);
    site.put("late.bin", vec![2; 70_000]);
    site.put("other.bin", &firmware);
    site.put("stray.bin", "stray");
    let dir = site.path("manifests");
    let verify = |args: &[&str]| {
        let said =
            super::site::Said::of(super::site::binary().current_dir(&dir).arg("verify").args(args).output().unwrap());
        (said.code, said.out, said.err)
    };
    let (code, good, _) = verify(&["fw.bin"]);
    assert_eq!(code, Some(0));
    insta::assert_snapshot!(good, @"
    fw.bin ok: it is fw 2.0.0, as a.yaml: OtaRollout/press-fw says
    fw.bin ok: it is fw 2.0.0, as b.yaml: OtaRollout/again says
      digest: sha256:5b0d3278a84a37782e416fe0a30f5ff8fb1a5df2937402c4d4a3d56a80caba1e
      sizeBytes: 50000
    ");
    let (code, bad, _) = verify(&["late.bin", "other.bin", "stray.bin"]);
    assert_eq!(code, Some(1));
    insta::assert_snapshot!(bad, @"
    late.bin refused: c.yaml: OtaRollout/late (fw 3.0.0): spec.artifact.digest says sha256:267ccbdc4e1d24891e18130d2690fc4f796b460f92a7fff15773b694143a965b, the file has that size and other bytes; copy the right file again, or correct the digest
      digest: sha256:49a8c7f87c9485de08388095c8fb9fdd6a7f93e2d444b66e71702d3cb277334f
      sizeBytes: 70000
    other.bin refused: a.yaml: OtaRollout/press-fw (fw 2.0.0): these are its bytes, but spec.artifact.sources calls them fw.bin; rename one of them
    other.bin refused: b.yaml: OtaRollout/again (fw 2.0.0): these are its bytes, but spec.artifact.sources calls them fw.bin; rename one of them
      digest: sha256:5b0d3278a84a37782e416fe0a30f5ff8fb1a5df2937402c4d4a3d56a80caba1e
      sizeBytes: 50000
    stray.bin refused: no rollout in a manifest beside it means it; `--manifest` names one elsewhere
      digest: sha256:e224ddc6b55af8b2a88404a0b6cb2617db0dfc25b3584a4dd7c4358d911e91f5
      sizeBytes: 5
    ");
    site.put("fw.bin", &firmware[..40_000]);
    let (code, cut, _) = verify(&["fw.bin", "--manifest", "a.yaml", "-o", "json"]);
    assert_eq!(code, Some(1));
    insta::assert_snapshot!(cut, @r#"
    {
      "files": [
        {
          "file": "fw.bin",
          "ok": false,
          "digest": "sha256:6c43d60940b141e3ae708fdf4d0de0518d0c9d095dd42558224ec9784f855a56",
          "sizeBytes": 40000,
          "rollouts": [
            {
              "rollout": "a.yaml: OtaRollout/press-fw",
              "artifact": "fw 2.0.0",
              "ok": false,
              "why": "spec.artifact.sizeBytes says 50000, the file has 40000; it may be cut short: copy it again, or correct size and digest"
            }
          ]
        }
      ]
    }
    "#);
    site.put("broken.yaml", "kind: OtaRollout");
    let (code, out, err) = verify(&[".", "none.bin", "--manifest", "broken.yaml"]);
    assert_eq!(code, Some(2));
    insta::assert_snapshot!(out + &err, @"
    . refused: cannot be read: it is a directory; name the files in it
    none.bin refused: cannot be read: No such file or directory (os error 2)
    lamplighter: broken.yaml: apiVersion: is missing; write `apiVersion: lamplighter.dev/v1alpha1` and a `kind`
    ");
    assert_eq!(verify(&[]).0, Some(2));
    assert_eq!(verify(&["fw.bin", "--cache"]).0, Some(2));
}
