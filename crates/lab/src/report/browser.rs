//! Pages and drawings in a real browser: what no look at their text can tell.
//!
//! Chromium opens the page without a window, runs its scripts, lays it out and paints it. Where none is installed the tests
//! say so on standard error; with `INVAR_BROWSER=required`, as `./test` sets, they fail.

use std::path::Path;
use std::process::Command;

use super::tests::{figures, full};
use super::{drawings, html};

/// What it is called on the systems we know.
const NAMES: [&str; 5] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chromium-headless-shell"];

/// The browser, if there is one.
fn browser() -> Option<&'static str> {
    let found = NAMES.into_iter().find(|name| Command::new(name).arg("--version").output().is_ok());
    if found.is_none() {
        let is_required = std::env::var_os("INVAR_BROWSER").is_some_and(|value| value == "required");
        assert!(!is_required, "no browser to look at the lab's pages with: apt install chromium");
        crate::left_out("no Chromium on this machine, so nobody looked at the pages of the lab");
    }
    found
}

/// A page as a browser has it after its scripts ran.
struct Seen {
    dom: String,
    /// Events of the browser that answer no command.
    log: String,
    /// Bytes of the picture, a PNG.
    picture: Vec<u8>,
}

impl Seen {
    /// What a script of the page noted in `data-NAME` of its root.
    fn mark(&self, name: &str) -> &str {
        let after = self.dom.split(&format!("data-{name}=\"")).nth(1);
        after.and_then(|rest| rest.split('"').next()).unwrap_or("absent")
    }

    /// Nothing on the console, and a picture of something.
    fn assert_well(&self) {
        let console: Vec<&str> = self.log.lines().filter(|line| line.contains("CONSOLE")).collect();
        assert!(console.is_empty(), "the console says {console:?}");
        let (is_png, bytes) = (self.picture.starts_with(b"\x89PNG"), self.picture.len());
        assert!(
            is_png && bytes > 20_000,
            "a picture of something: {bytes} bytes; the browser said: {}",
            self.log
        );
    }
}

/// Opens a file. The picture is kept where `INVAR_LAB_PICTURE` names a folder.
fn look(browser: &str, page: &Path) -> Seen {
    let folder = tempfile::tempdir().unwrap();
    let picture = folder.path().join("page.png");
    let out = Command::new(browser)
        .args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
        ])
        .args([
            "--enable-logging=stderr",
            "--window-size=1200,4800",
            "--virtual-time-budget=3000",
            "--dump-dom",
        ])
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .arg(format!("--screenshot={}", picture.display()))
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    if let Some(kept) = std::env::var_os("INVAR_LAB_PICTURE") {
        let name = page.file_stem().unwrap().to_string_lossy().into_owned();
        std::fs::copy(&picture, Path::new(&kept).join(name + ".png")).unwrap();
    }
    Seen {
        dom: String::from_utf8_lossy(&out.stdout).into_owned(),
        log: String::from_utf8_lossy(&out.stderr).into_owned(),
        picture: std::fs::read(&picture).unwrap_or_default(),
    }
}

/// A script that notes how much of a page runs over the window's edge, and how many charts it has.
const MEASURE: &str = "<script>
var wide=[].filter.call(document.querySelectorAll('main,section h2,section>svg'),function(e){return e.getBoundingClientRect().right>innerWidth+1});
document.documentElement.dataset.overflow=String(wide.length);
document.documentElement.dataset.charts=String(document.querySelectorAll('svg').length);
</script>";

#[test]
fn the_page_of_a_run_is_whole() {
    let Some(browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("run.html");
    std::fs::write(&page, html::page(&full(), &figures())).unwrap();
    let seen = look(browser, &page);
    seen.assert_well();
    assert_eq!(seen.mark("json"), "1", "the JSON in the page reads; the browser said: {}", seen.log);
    assert!(seen.mark("charts").parse::<u32>().unwrap() >= 7, "{} charts", seen.mark("charts"));
    assert_eq!(seen.mark("overflow"), "0", "headings outside the window");
}

#[test]
fn the_page_of_the_bench_is_whole() {
    let Some(browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("bench.html");
    let rows = crate::bench::page::tests::history();
    let text = crate::bench::page::page(&rows);
    std::fs::write(&page, text.replace("</main>", &format!("</main>{MEASURE}"))).unwrap();
    let seen = look(browser, &page);
    seen.assert_well();
    assert_eq!(seen.mark("charts"), "1", "a chart for what was measured");
    assert_eq!(seen.mark("overflow"), "0", "outside the window");
}

/// Each file is put into a page as a picture: a browser shows one only if it is whole and well-formed.
#[test]
fn drawings_are_pictures_that_stand_alone() {
    let Some(browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let drawings = drawings::all(&full());
    let mut page = String::from("<!doctype html><meta charset=utf-8><title>drawings</title>");
    for drawing in &drawings {
        std::fs::write(folder.path().join(format!("{}.svg", drawing.name)), &drawing.svg).unwrap();
        page += &format!("<p><img src=\"{}.svg\">", drawing.name);
    }
    page += "<script>addEventListener('load',function(){var bad=[].filter.call(document.images,\
             function(e){return !(e.complete&&e.naturalWidth>=600&&e.naturalHeight>=60)}).map(function(e){return e.src});\
             document.documentElement.dataset.bad=bad.join(' ')||'none'})</script>";
    let path = folder.path().join("drawings.html");
    std::fs::write(&path, page).unwrap();
    let seen = look(browser, &path);
    seen.assert_well();
    assert_eq!(seen.mark("bad"), "none", "drawings that a browser does not show");
    assert!(drawings.len() >= 10, "{}", drawings.len());
}
