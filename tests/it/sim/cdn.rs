use discord_os::sim::Options;
use reqwest::Method;
use serde_json::json;

use super::bot::start;

#[tokio::test]
async fn bytes_come_back_as_they_were() {
    let b = start(Options::default()).await;
    let bytes: Vec<u8> = (0..200_000u32).map(|n| (n % 251) as u8).collect();
    let payload =
        json!({"content": "file", "attachments": [{"id": 0, "filename": "mein bericht.bin", "description": "index"}]});
    let said = b.upload("ignored.bin", bytes.clone(), payload).await;
    assert_eq!(said.status, 200, "{}", said.text);
    let file = &said.json["attachments"][0];
    assert_eq!((&file["filename"], &file["title"]), (&json!("mein_bericht.bin"), &json!("mein bericht")));
    assert_eq!((&file["size"], &file["description"]), (&json!(200_000), &json!("index")));
    let url = file["url"].as_str().unwrap();
    let response = b.http.get(url).send().await.unwrap();
    assert_eq!(response.headers()["content-length"], "200000");
    assert!(response.headers()["content-security-policy"].to_str().unwrap().starts_with("sandbox"));
    assert_eq!(response.headers()["access-control-allow-origin"], b.at.control_base.as_str());
    assert_eq!(response.bytes().await.unwrap(), bytes);
    let part = b.http.get(url).header("Range", "bytes=10-19").send().await.unwrap();
    assert_eq!(
        (part.status().as_u16(), part.headers()["content-range"].to_str().unwrap()),
        (206, "bytes 10-19/200000")
    );
    assert_eq!(part.bytes().await.unwrap(), &bytes[10..20]);
    let head = b.http.head(url).send().await.unwrap();
    assert_eq!((head.status().as_u16(), head.headers()["content-length"].to_str().unwrap()), (200, "200000"));
    b.no_violations().await;
    b.http.get(url).header("Authorization", "Bot x").send().await.unwrap();
    assert_eq!(b.control.violations().await.unwrap().len(), 1, "the token must not go to the CDN");
    b.sim.stop().await;
}

#[tokio::test]
async fn links_die() {
    let b = start(Options::default()).await;
    let said = b.upload("a.txt", b"abc".to_vec(), json!({})).await.json;
    let url = said["attachments"][0]["url"].as_str().unwrap().to_owned();
    let gone = |url: String| {
        let http = b.http.clone();
        async move {
            let response = http.get(url).send().await.unwrap();
            assert_eq!(
                (response.status().as_u16(), &response.headers()["content-type"]),
                (404, &"text/plain".parse().unwrap())
            );
            assert_eq!(response.text().await.unwrap(), "This content is no longer available.");
        }
    };
    gone(url.split('?').next().unwrap().to_owned()).await;
    gone(url.replace("hm=", "hm=0")).await;
    b.control.advance(86_400_000).await.unwrap();
    gone(url).await;
    let path = format!("/channels/{}/messages/{}", b.at.channel, said["id"].as_str().unwrap());
    let fresh = b.get(&path).await.json["attachments"][0]["url"].as_str().unwrap().to_owned();
    assert_eq!(b.http.get(&fresh).send().await.unwrap().text().await.unwrap(), "abc");
    b.send(b.request(Method::DELETE, &path)).await;
    gone(fresh).await;
    b.sim.stop().await;
}

#[tokio::test]
async fn downloads_break_on_order() {
    let b = start(Options::default()).await;
    let bytes = vec![7u8; 300_000];
    let said = b.upload("a.bin", bytes.clone(), json!({})).await.json;
    let url = said["attachments"][0]["url"].as_str().unwrap().to_owned();
    b.control
        .faults(json!([
            {"on": {"cdn": true}, "nth": 1, "do": {"kind": "cut", "bytes": 1000}},
            {"on": {"cdn": true}, "nth": 2, "do": {"kind": "flip"}},
            {"on": {"cdn": true}, "nth": 3, "do": {"kind": "body", "status": 200, "text": "<html>"}},
        ]))
        .await
        .unwrap();
    assert!(b.http.get(&url).send().await.unwrap().bytes().await.is_err(), "cut in the middle");
    let flipped = b.http.get(&url).send().await.unwrap().bytes().await.unwrap();
    assert_eq!((flipped.len(), flipped.iter().filter(|x| **x != 7).count()), (300_000, 1));
    assert_eq!(b.http.get(&url).send().await.unwrap().text().await.unwrap(), "<html>");
    assert_eq!(b.http.get(&url).send().await.unwrap().bytes().await.unwrap(), bytes);
    b.sim.stop().await;
}
