//! How many images a request asks for.

/// Nouns for pictures, in the singular.
pub(crate) const NOUNS: &str = "\
picture, image, photo, photograph, illustration, logo, icon, drawing, painting, sketch, poster, wallpaper, \
portrait, avatar, banner image, cartoon, artwork, pixel art, watercolor, watercolour";

/// Words from the number to the noun, at most: "four very simple app icons".
const BETWEEN: usize = 4;

const NUMBERS: [&str; 13] =
    ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];

/// Words after which a number measures something instead of counting pictures.
const UNITS: [&str; 9] = ["px", "pixel", "pixels", "x", "by", "dpi", "bit", "percent", "color"];

/// How many images are requested: the first number before a noun for images, or one. "An image of 4 icons" is one
/// image.
pub fn count(words: &str) -> u32 {
    let words = words.to_lowercase();
    let tokens: Vec<&str> =
        words.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|w| !w.is_empty()).collect();
    for (at, token) in tokens.iter().enumerate() {
        let Some(number) = number(token) else { continue };
        let rest = &tokens[at + 1..];
        if rest.first().is_some_and(|next| UNITS.contains(next)) {
            continue;
        }
        let before_noun = rest.iter().take(BETWEEN).take_while(|word| !ends_the_phrase(word));
        if before_noun.into_iter().any(|word| is_noun(word)) {
            return number.max(1);
        }
    }
    1
}

/// "3 cats in a picture" counts cats.
fn ends_the_phrase(word: &str) -> bool {
    matches!(word, "in" | "of" | "on" | "with" | "for" | "at" | "and" | "from" | "that" | "showing" | "by" | "to")
}

fn number(word: &str) -> Option<u32> {
    if matches!(word, "a" | "an") {
        return Some(1);
    }
    if matches!(word, "few" | "several") {
        return Some(3);
    }
    if let Some(number) = NUMBERS.iter().position(|name| *name == word) {
        return u32::try_from(number).ok();
    }
    word.parse().ok().filter(|number| (1..=999).contains(number))
}

/// Whether a word is a noun for pictures, or for several of them.
pub(crate) fn is_noun(word: &str) -> bool {
    let is_it = |word: &str| NOUNS.split(", ").any(|noun| noun == word);
    is_it(word) || word.strip_suffix('s').is_some_and(is_it)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_before_a_noun_for_pictures_counts() {
        for (words, wanted) in [
            ("Create 4 icon ideas for my mobile app logo based on the README of the project", 4),
            ("4 icons", 4),
            ("generate 3 images of cats", 3),
            ("5 logo ideas", 5),
            ("draw four very simple app icons", 4),
            ("Create icons for the toolbar", 1),
            ("create an image of 4 icons", 1),
            ("draw 3 cats in a boat", 1),
            ("draw a picture with 3 cats", 1),
            ("a 64 px icon", 1),
            ("512 pixel icon", 1),
            ("Make several sketchs of a bird", 3),
            ("draw 0 icons", 1),
            ("draw 250 icons", 250),
            ("draw 4000000000 icons", 1),
            ("", 1),
        ] {
            assert_eq!(count(words), wanted, "{words}");
        }
    }
}
