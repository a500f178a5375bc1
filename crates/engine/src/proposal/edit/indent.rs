//! Indentation: whether an edit differs from the file uniformly, and how added lines must be indented then.

use std::collections::HashMap;

/// Tab widths that people use. Others are taken only if several lines prove them.
const COMMON_WIDTHS: [usize; 5] = [1, 2, 3, 4, 8];
const WIDEST_TAB: usize = 8;

/// How indentation in the edit becomes indentation in the file.
#[derive(Debug)]
pub(super) struct Reindent<'a> {
    /// What lines of the old side show: the same indentation always becomes the same.
    seen: HashMap<&'a [u8], &'a [u8]>,
    rule: IndentRule<'a>,
    /// Whether lines of the file are indented with blanks, and with tabs.
    file_has: [bool; 2],
}

#[derive(Debug)]
enum IndentRule<'a> {
    /// As written.
    Same,
    /// The file is deeper by this.
    Deeper(&'a [u8]),
    /// The edit is deeper by this.
    Shallower(&'a [u8]),
    /// Tabs on one side and blanks on the other. Several widths may explain what was seen.
    Widths { fits: Vec<(usize, isize)>, tabs_in_file: bool },
}

impl<'a> Reindent<'a> {
    /// The rule behind pairs of indentation, the edit's and the file's; `None` if no single rule fits.
    pub(super) fn between(pairs: &[(&'a [u8], &'a [u8])]) -> Option<Self> {
        let mut seen = HashMap::new();
        let mut last = None;
        for (edit, file) in pairs {
            if last.replace((edit, file)) == Some((edit, file)) {
                continue;
            }
            if *seen.entry(*edit).or_insert(*file) != *file {
                return None;
            }
        }
        let rule = same(pairs).or_else(|| prefix(pairs)).or_else(|| widths(&seen))?;
        Some(Reindent { seen, rule, file_has: [false; 2] })
    }

    /// The difference is a single blank. In a diff that may as well be a marker left out or doubled.
    pub(super) fn is_one_blank(&self) -> bool {
        matches!(self.rule, IndentRule::Deeper(b" ") | IndentRule::Shallower(b" "))
    }

    /// Decides between tab widths that all explain what was seen, by looking at the indentation of
    /// the added lines and of the whole file.
    pub(super) fn settle<'l>(&mut self, added: impl Iterator<Item = &'l [u8]>, file: impl Iterator<Item = &'l [u8]>) {
        let mut blanks = Vec::new();
        for indent in file {
            self.file_has[0] |= indent.contains(&b' ');
            self.file_has[1] |= indent.contains(&b'\t');
            if !indent.contains(&b'\t') {
                blanks.push(indent.len());
            }
        }
        let IndentRule::Widths { fits, tabs_in_file } = &mut self.rule else { return };
        if fits.len() < 2 {
            return;
        }
        // One level of indentation is all that was seen. That no offset comes on top is the plain
        // reading, unless the unit it implies is at odds with the rest: then a level was dropped
        // and the unit is another one, and only indentation seen before is certain.
        let plain: Vec<_> =
            fits.iter().copied().filter(|(width, by)| *by == 0 && COMMON_WIDTHS.contains(width)).collect();
        let settled = match plain[..] {
            [(width, _)] if *tabs_in_file => {
                let mut unit = added.filter(|indent| !indent.contains(&b'\t')).fold(0, |unit, i| gcd(unit, i.len()));
                unit = self.seen.keys().fold(unit, |unit, i| gcd(unit, i.len()));
                unit % (2 * width) != 0
            }
            // The file shows its unit itself. A single blank more is the star of a comment.
            [(width, _)] if width > 1 => {
                !blanks.iter().all(|blanks| blanks % (2 * width) == 0)
                    && blanks.iter().all(|blanks| blanks % width <= 1)
            }
            _ => false,
        };
        *fits = if settled { plain } else { Vec::new() };
    }

    /// What a line that the edit indents by `indent` begins with in the file; `None` if not certain.
    pub(super) fn map(&self, indent: &[u8]) -> Option<Vec<u8>> {
        if let Some(file) = self.seen.get(indent) {
            return Some(file.to_vec());
        }
        match &self.rule {
            IndentRule::Same => Some(indent.to_vec()),
            IndentRule::Shallower(by) => self.in_style(indent.strip_prefix(*by)?.to_vec()),
            IndentRule::Deeper(by) => {
                // Blanks below a file's tabs, or the reverse, would need a tab width to be read.
                let known = |byte: &u8| by.contains(byte) || self.seen.keys().any(|seen| seen.contains(byte));
                self.in_style(indent.iter().all(known).then(|| [by, indent].concat())?)
            }
            IndentRule::Widths { fits, tabs_in_file } => {
                let [(width, by)] = fits[..] else { return None };
                let column = column(indent, width).checked_add_signed(by)?;
                match tabs_in_file {
                    true if column % width == 0 => Some(vec![b'\t'; column / width]),
                    true => None,
                    false => Some(vec![b' '; column]),
                }
            }
        }
    }
}

impl Reindent<'_> {
    /// The indentation, unless it has blanks where the file has tabs only, or tabs where it has blanks:
    /// an offset alone does not say how many make one.
    fn in_style(&self, indent: Vec<u8>) -> Option<Vec<u8>> {
        let strange = match self.file_has {
            [true, false] => b'\t',
            [false, true] => b' ',
            _ => return Some(indent),
        };
        (!indent.contains(&strange)).then_some(indent)
    }
}

fn same<'a>(pairs: &[(&'a [u8], &'a [u8])]) -> Option<IndentRule<'a>> {
    pairs.iter().all(|(edit, file)| edit == file).then_some(IndentRule::Same)
}

fn prefix<'a>(pairs: &[(&'a [u8], &'a [u8])]) -> Option<IndentRule<'a>> {
    let (edit, file) = *pairs.first()?;
    if let Some(by) = file.strip_suffix(edit) {
        let all = pairs.iter().all(|(edit, file)| file.strip_prefix(by) == Some(*edit));
        return all.then_some(IndentRule::Deeper(by));
    }
    let by = edit.strip_suffix(file)?;
    pairs.iter().all(|(edit, file)| edit.strip_prefix(by) == Some(*file)).then_some(IndentRule::Shallower(by))
}

fn widths<'a>(seen: &HashMap<&'a [u8], &'a [u8]>) -> Option<IndentRule<'a>> {
    let tabs_in_file = seen.values().any(|file| file.contains(&b'\t'));
    let tabs_in_edit = seen.keys().any(|edit| edit.contains(&b'\t'));
    if !tabs_in_file && !tabs_in_edit {
        return None;
    }
    let fits: Vec<(usize, isize)> = (1..=WIDEST_TAB)
        .filter_map(|width| {
            let mut offsets =
                seen.iter().map(|(edit, file)| column(file, width) as isize - column(edit, width) as isize);
            let by = offsets.next()?;
            (by % width as isize == 0 && offsets.all(|other| other == by)).then_some((width, by))
        })
        .collect();
    (!fits.is_empty()).then_some(IndentRule::Widths { fits, tabs_in_file })
}

/// The column that an indentation reaches.
fn column(indent: &[u8], width: usize) -> usize {
    indent.iter().fold(0, |column, byte| if *byte == b'\t' { (column / width + 1) * width } else { column + 1 })
}

fn gcd(a: usize, b: usize) -> usize {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
