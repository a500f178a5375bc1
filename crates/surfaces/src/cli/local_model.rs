//! A model of this machine, where none is set and no key is there: a person is asked once, a script is told.

use trimtab_host::config::Profile;
use trimtab_host::{Client, local_model, remember_found};
use trimtab_vocab::Problem;

use super::keyboard;
use super::output::{note, note_part, problem};

/// Chooses a model of this machine for a command that needs one. A person who says no is left without a model, which
/// the request then says.
pub(super) async fn choose(client: &Client, profile: &mut Profile, is_attended: bool) -> Result<(), Problem> {
    if profile.model.is_some() {
        return Ok(());
    }
    let Some(found) = local_model(profile).await else { return Ok(()) };
    if !is_attended {
        note(&format!("note: No model is set. Using {}. Set `model` in the settings to choose another.", found.line()));
        client.use_found(profile, &found);
        return Ok(());
    }
    keyboard::ask_for_colors();
    note(&format!("No model is set up. Found {}.", found.line()));
    note_part("Use it, and remember the choice? [Y/n] ");
    let answer = keyboard::line().await.unwrap_or_else(|| "n".to_owned());
    if !matches!(answer.trim().to_ascii_lowercase().as_str(), "" | "y" | "yes") {
        return profile.ready_model().map(drop);
    }
    client.use_found(profile, &found);
    // What cannot be kept is used all the same; it is asked again the next time.
    remember_found(profile, &found).unwrap_or_else(|unkept| problem(&unkept));
    Ok(())
}
