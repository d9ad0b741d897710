//! The phone in the browser: the page that stands in for Discord, built into the binary.

/// A file of the page by its path (`/assets/app.js`, or `app.js` for short; `/` is the page itself): its content type
/// and its bytes. `None` where there is no such file.
pub fn asset(path: &str) -> Option<(&'static str, &'static [u8])> {
    const HTML: &str = "text/html; charset=utf-8";
    const CSS: &str = "text/css; charset=utf-8";
    const JS: &str = "text/javascript; charset=utf-8";
    const SVG: &str = "image/svg+xml";
    let path = path.strip_prefix('/').unwrap_or(path);
    Some(match path.strip_prefix("assets/").unwrap_or(path) {
        "" | "index.html" => (HTML, include_bytes!("index.html")),
        "style.css" => (CSS, include_bytes!("style.css")),
        "message.css" => (CSS, include_bytes!("message.css")),
        "overlay.css" => (CSS, include_bytes!("overlay.css")),
        "icon.svg" => (SVG, include_bytes!("icon.svg")),
        "api.js" => (JS, include_bytes!("api.js")),
        "app.js" => (JS, include_bytes!("app.js")),
        "components.js" => (JS, include_bytes!("components.js")),
        "composer.js" => (JS, include_bytes!("composer.js")),
        "dom.js" => (JS, include_bytes!("dom.js")),
        "drawer.js" => (JS, include_bytes!("drawer.js")),
        "files.js" => (JS, include_bytes!("files.js")),
        "guide.js" => (JS, include_bytes!("guide.js")),
        "interactions.js" => (JS, include_bytes!("interactions.js")),
        "links.js" => (JS, include_bytes!("links.js")),
        "markdown.js" => (JS, include_bytes!("markdown.js")),
        "messages.js" => (JS, include_bytes!("messages.js")),
        "modal.js" => (JS, include_bytes!("modal.js")),
        "richtext.js" => (JS, include_bytes!("richtext.js")),
        "sheet.js" => (JS, include_bytes!("sheet.js")),
        "store.js" => (JS, include_bytes!("store.js")),
        "times.js" => (JS, include_bytes!("times.js")),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_that_the_page_names_is_there() {
        let mut wanted = vec!["index.html".to_owned()];
        let mut seen = std::collections::BTreeSet::new();
        while let Some(name) = wanted.pop() {
            if !seen.insert(name.clone()) {
                continue;
            }
            let (_, bytes) = asset(&name).unwrap_or_else(|| panic!("{name} is named, but not built in"));
            let text = std::str::from_utf8(bytes).unwrap();
            for mark in ["\"/assets/", "from \"./"] {
                for rest in text.split(mark).skip(1) {
                    wanted.push(rest.split('"').next().unwrap().to_owned());
                }
            }
        }
        assert!(seen.len() > 15, "{seen:?}");
    }

    #[test]
    fn the_page_asks_nobody_else_and_carries_no_inline_code() {
        let (_, bytes) = asset("").unwrap();
        let html = std::str::from_utf8(bytes).unwrap();
        assert!(!html.contains("style=") && !html.contains("<style") && !html.contains("onclick"));
        assert!(!html.contains("http://") && !html.contains("https://"));
        assert_eq!(html.matches("<script").count(), 1);
    }

    #[test]
    fn the_page_and_its_files_have_addresses() {
        assert_eq!(asset("/"), asset("index.html"));
        assert_eq!(asset("/assets/app.js"), asset("app.js"));
    }

    #[test]
    fn other_paths_are_nothing() {
        for path in ["mod.rs", "../mod.rs", "/assets/../app.js", "//app.js", "app.js/"] {
            assert!(asset(path).is_none(), "{path}");
        }
    }
}
