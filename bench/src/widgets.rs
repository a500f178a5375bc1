//! Widgets of the terminal UI: text that streams in, key presses, pastes, searches.
//!
//! Each size is measured beside a tenth of it: ten times the input should take about ten times as long.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use trimtab_surfaces::palette::{Background, Palette};
use trimtab_surfaces::tui::composer::Composer;
use trimtab_surfaces::tui::keys::{Chord, Key, KeyAction, KeyMap, TerminalInput};
use trimtab_surfaces::tui::markdown::{self, MarkdownStream};
use trimtab_surfaces::tui::picker::{Picker, PickerItem};
use trimtab_surfaces::tui::theme::Theme;

use crate::table::{Table, median};

const ROUNDS: usize = 3;
/// Pieces between two frames: 2,000 in a second, drawn 60 times.
const PER_FRAME: usize = 33;

fn theme() -> Theme {
    Theme::new(Palette::Full(Background::Dark))
}

pub fn measure(_: &Path, table: &mut Table) {
    markdown::warm();
    grows("markdown: 100,000 lines in small pieces", table, 100_000, |lines| streamed(&document(lines)));
    grows("markdown: one paragraph of 1 MB", table, 1_000_000, |bytes| streamed(&"word ".repeat(bytes / 5)));
    grows("markdown: a table of 10,000 rows", table, 10_000, |rows| {
        streamed(&format!("| a | b |\n|---|---|\n{}", "| `x` | some words |\n".repeat(rows)))
    });
    grows("markdown: a program of 50,000 lines", table, 50_000, |lines| {
        streamed(&format!("```rust\n{}```\n", "    let x = call(\"text\", 1);\n".repeat(lines)))
    });
    let short = pressed("a short draft ");
    table.durations(
        "composer: 1,000 keys in a draft of 60 kB",
        vec![pressed(&"some words ".repeat(5_400))],
        Some(("in a short one", short)),
    );
    grows("composer: a paste of 1 MB, drawn", table, 1_000_000, pasted);
    grows("picker: 6 letters over 50,000 files", table, 50_000, searched);
}

fn grows(what: &str, table: &mut Table, size: usize, run: impl Fn(usize) -> Duration) {
    let times = |size: usize| (0..ROUNDS).map(|_| run(size)).collect::<Vec<_>>();
    let mut tenth = times(size / 10);
    tenth.sort();
    table.durations(what, times(size), Some(("a tenth of it", median(&tenth))));
}

fn document(lines: usize) -> String {
    let part = "## Part\n\nSome *text* with `code`, a [link](https://example.org/a) and **more** of it, long enough to wrap.\n\n- one\n- two\n  1. inner\n\n```rust\nfn go(x: u32) -> u32 {\n    x + 1 // so\n}\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> quoted\n\n";
    part.repeat(lines / part.lines().count())
}

fn streamed(text: &str) -> Duration {
    let letters: Vec<char> = text.chars().collect();
    let pieces: Vec<String> = letters.chunks(4).map(|piece| piece.iter().collect()).collect();
    let began = Instant::now();
    let mut stream = MarkdownStream::new(100, theme());
    for (number, piece) in pieces.iter().enumerate() {
        stream.push(piece);
        if number % PER_FRAME == 0 {
            std::hint::black_box(stream.open_lines());
            std::hint::black_box(stream.take_finished());
        }
    }
    stream.finish();
    std::hint::black_box(stream.take_finished());
    began.elapsed()
}

fn drawn(composer: &mut Composer) {
    let area = Rect::new(0, 0, 100, 12);
    let mut buf = Buffer::empty(area);
    std::hint::black_box(composer.height(100, 12));
    std::hint::black_box(composer.draw(area, &mut buf, &theme()));
}

fn pressed(draft: &str) -> Duration {
    let (mut composer, keys) = (Composer::new("/"), KeyMap::default());
    composer.edited(Some(draft.to_owned()));
    composer.act(KeyAction::TextStart);
    let began = Instant::now();
    for number in 0..1_000 {
        let key = if number % 6 == 5 { ' ' } else { 'x' };
        composer.input(&TerminalInput::Key(Chord::plain(Key::Char(key))), &keys);
        drawn(&mut composer);
    }
    began.elapsed()
}

fn pasted(bytes: usize) -> Duration {
    let mut composer = Composer::new("/");
    let text = "a line of text\n".repeat(bytes / 15);
    let began = Instant::now();
    composer.paste(&text);
    drawn(&mut composer);
    began.elapsed()
}

fn searched(files: usize) -> Duration {
    let names = (0..files).map(|n| PickerItem::new(format!("crates/part{}/src/deep/module_{n}.rs", n % 97)));
    let mut picker = Picker::new("Files", "");
    picker.set_items(Arc::new(names.collect()));
    let began = Instant::now();
    for end in 1..=6 {
        picker.set_query(&"modul9"[..end]);
        let area = Rect::new(0, 0, 100, 8);
        picker.draw(area, &mut Buffer::empty(area), &theme());
    }
    began.elapsed()
}
