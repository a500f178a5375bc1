//! The images that a session has made.

use std::time::Duration;

use trimtab_engine::Session;
use trimtab_vocab::{Control, GeneratedImage, ImageId, PictureWish, Problem, ProblemKind, SessionId, WhileRunning};

use crate::compose::{ComposedRequest, Manner, RequestDraft, WhenBusy};
use crate::config::Profile;
use crate::handles::ImageGallery;
use crate::hub::POLL_INTERVAL;

/// Prompts above this many bytes are refused: no provider takes them.
const LONGEST_PROMPT: usize = 32 * 1024;
/// A choice that is not processed by then waits for the next process that runs the session.
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// The limit of images that are saved at once.
const MOST_SAVED: usize = 1_000;

impl ImageGallery<'_> {
    /// The gallery of a session, in the order of its places.
    pub async fn list(self, session: &SessionId) -> Result<Vec<GeneratedImage>, Problem> {
        self.0.sessions().get(session).await?;
        Ok(self.0.sessions().folded(session).await?.gallery().cloned().collect())
    }

    /// A picture of it.
    pub async fn get(self, session: &SessionId, image: &ImageId) -> Result<GeneratedImage, Problem> {
        let found = self.list(session).await?.into_iter().find(|picture| picture.id == *image);
        found.ok_or_else(|| {
            Problem::new(ProblemKind::NotFound, format!("There is no image {image} in this session."))
                .hint("`trimtab images list` shows all images.")
        })
    }

    /// Chooses pictures, or chooses them no longer.
    pub async fn select(self, session: &SessionId, images: Vec<ImageId>, selected: bool) -> Result<(), Problem> {
        self.0.requests().control(session, None, Control::SelectImages { images: images.clone(), selected }).await?;
        // The process that runs the session handles it at once, so wait for the result.
        let deadline = tokio::time::Instant::now() + LONGEST_WAIT;
        let (mut folded, mut last) = (Session::new(session.clone()), 0);
        loop {
            last = self.0.sessions().fold_on(session, &mut folded, last).await?;
            let is_so = |picture: &GeneratedImage| picture.selected == selected || !images.contains(&picture.id);
            if folded.gallery().all(is_so) || tokio::time::Instant::now() >= deadline {
                return Ok(());
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Composes a request for images from `words`, with the settings of the session's folder. It waits until the
    /// request before it has ended, because it is not meant for that request's model.
    pub async fn compose(
        self,
        profile: &Profile,
        folder: &str,
        wish: PictureWish,
        words: &str,
        manner: Manner,
    ) -> Result<ComposedRequest, Problem> {
        let text = match &wish {
            PictureWish::Make { .. } => {
                check_prompt(words)?;
                words.to_owned()
            }
            PictureWish::Regenerate { prompt, .. } => {
                check_prompt(prompt)?;
                format!("Regenerate an image: {}", prompt.trim())
            }
            PictureWish::Save { images, .. } if images.len() > MOST_SAVED => {
                return Err(Problem::new(
                    ProblemKind::Usage,
                    format!("At most {MOST_SAVED} images can be saved at once."),
                ));
            }
            PictureWish::Save { images, folder } => {
                let place = if folder.trim().is_empty() { "the folder" } else { folder.trim() };
                format!("Save {} of the generated images in {place}", images.len())
            }
        };
        let when_busy = WhenBusy::Exactly(Some(WhileRunning::Queue));
        let draft = RequestDraft { picture: Some(wish), when_busy, literal: true, ..RequestDraft::new(text, manner) };
        self.0.compose(profile, folder, draft).await
    }
}

/// The prompt with what the user adds to it.
pub fn refined(prompt: &str, refinement: &str) -> String {
    match refinement.trim() {
        "" => prompt.trim().to_owned(),
        more => format!("{}, {more}", prompt.trim().trim_end_matches(['.', ','])),
    }
}

fn check_prompt(prompt: &str) -> Result<(), Problem> {
    if prompt.trim().is_empty() {
        return Err(Problem::new(ProblemKind::Usage, "The prompt is empty.").hint("Describe the image."));
    }
    if prompt.len() > LONGEST_PROMPT {
        return Err(Problem::new(ProblemKind::Usage, "The prompt is too long: the limit is 32 KB."));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_person_adds_follows_the_prompt() {
        assert_eq!(refined("A fox.", " darker "), "A fox, darker");
        assert_eq!(refined(" A fox. ", " "), "A fox.");
    }
}
