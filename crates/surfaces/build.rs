//! Builds the browser's program (`web/`) into the binary. Cargo runs this only when something there changed.
//!
//! Without Node the rest is built all the same, and the server has a page that says what is missing.
//! `TRIMTAB_WEB=off` leaves it out on purpose, `TRIMTAB_WEB=require` makes its lack an error.

#![allow(clippy::disallowed_methods, reason = "what builds the program is not the program")]

use std::path::Path;
use std::process::Command;
use std::{env, fs};

const SOURCES: &[&str] = &["src", "public", "index.html", "package-lock.json", "vite.config.ts", "svelte.config.js"];

fn main() {
    let web = Path::new("../../web");
    for source in SOURCES {
        println!("cargo::rerun-if-changed={}", web.join(source).display());
    }
    println!("cargo::rerun-if-env-changed=TRIMTAB_WEB");
    let wish = env::var("TRIMTAB_WEB").unwrap_or_default();
    let built = if wish == "off" { Err("TRIMTAB_WEB is off".to_owned()) } else { build(web) };
    if let Err(why) = built {
        // What an earlier build left would be another version of it.
        if web.join("dist").exists() {
            drop(fs::remove_dir_all(web.join("dist")));
        }
        let said = format!("the browser UI is not built in: {why}");
        match wish.as_str() {
            "off" => {}
            "require" => println!("cargo::error={said}"),
            _ => println!("cargo::warning={said}"),
        }
    }
}

fn build(web: &Path) -> Result<(), String> {
    let lock = fs::read(web.join("package-lock.json")).map_err(|error| format!("web/package-lock.json: {error}"))?;
    // npm is only asked for packages when the list of them is another one than last time.
    let seen = web.join("node_modules/.trimtab-lock");
    if fs::read(&seen).ok().as_deref() != Some(&lock) {
        npm(web, &["ci", "--no-audit", "--no-fund", "--loglevel=error"])?;
        fs::write(&seen, &lock).map_err(|error| format!("{}: {error}", seen.display()))?;
    }
    npm(web, &["run", "--silent", "build", "--", "--logLevel", "error"])
}

fn npm(web: &Path, arguments: &[&str]) -> Result<(), String> {
    let ended = Command::new("npm").args(arguments).current_dir(web).output().map_err(|error| {
        format!("npm cannot be started ({error}). Install Node 20 or newer with npm, then build again")
    })?;
    if ended.status.success() {
        return Ok(());
    }
    let said = [ended.stdout, ended.stderr].concat();
    let said: Vec<_> = String::from_utf8_lossy(&said).lines().take(8).map(str::to_owned).collect();
    Err(format!("`npm {}` failed: {}", arguments.join(" "), said.join(" | ")))
}
