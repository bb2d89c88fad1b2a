//! Redirects and passwords: who is asked, and who hears what.

use super::server::{Answer, Server, serve};
use super::{World, firmware, local, spec};

#[tokio::test]
async fn redirects_are_followed_but_not_in_circles_nor_anywhere() {
    local(async || {
        let (world, bytes) = (World::new(), firmware(1000));
        let file = bytes.clone();
        let server = Server::start(move |_, request| match request.path.as_str() {
            "/a" => Answer::new("302 Found", &[("Location", "b#fragment")], b""),
            "/b" => Answer::new("307 Temporary Redirect", &[("Location", "/os")], b""),
            "/os" => serve(request, &file, "\"a\""),
            "/file" => Answer::new("302 Found", &[("Location", "file:///etc/passwd")], b""),
            "/none" => Answer::new("302 Found", &[], b""),
            _ => Answer::new("301 Moved Permanently", &[("Location", "/circle")], b""),
        })
        .await;
        world.refused(&spec(&bytes, &[server.url("/circle")]), &["in a circle"]).await;
        world.refused(&spec(&bytes, &[server.url("/file")]), &["to no address"]).await;
        world.refused(&spec(&bytes, &[server.url("/none")]), &["to no address"]).await;
        world.fetch(&spec(&bytes, &[server.url("/a")])).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn each_host_hears_its_own_password_only() {
    local(async || {
        let (mut world, bytes) = (World::new(), firmware(1000));
        let file = bytes.clone();
        let far = Server::start(move |_, request| serve(request, &file, "\"a\"")).await;
        let to = far.url("/os");
        let near = Server::start(move |_, _| Answer::new("302 Found", &[("Location", &to)], b"")).await;
        world.credentials(&format!("http://{}", near.address), "me:secret");
        // meant for TLS: never said without it
        world.credentials(&far.address.to_string(), "me:other");
        world.fetch(&spec(&bytes, &[near.url("/os")])).await.unwrap();
        assert_eq!(near.requests()[0].header("authorization"), Some("Basic bWU6c2VjcmV0"));
        assert_eq!(far.requests()[0].header("authorization"), None);
    })
    .await;
}

#[tokio::test]
async fn a_password_file_that_is_not_there_is_named_with_its_host() {
    local(async || {
        let (mut world, bytes) = (World::new(), firmware(1000));
        let origin = "http://127.0.0.1:1";
        world.credentials(origin, "nothing that makes sense");
        let spec = spec(&bytes, &[format!("{origin}/os")]);
        world.refused(&spec, &["USER:PASSWORD", ".secret", origin]).await;
        std::fs::remove_file(world.uplink.credentials.values().next().unwrap()).unwrap();
        world.refused(&spec, &["does not exist"]).await;
    })
    .await;
}
