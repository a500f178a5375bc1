//! The operations of a client, grouped by noun. A handle is a view of the client and costs nothing.

use crate::client::Client;

/// Sessions: made, found, read, renamed, forked, handed off, and deleted.
#[derive(Clone, Copy)]
pub struct Sessions<'a>(pub(crate) &'a Client);

/// Requests: their status, their questions, and the user's control of them.
#[derive(Clone, Copy)]
pub struct Requests<'a>(pub(crate) &'a Client);

/// What sessions have changed in files, and how that is undone and redone.
#[derive(Clone, Copy)]
pub struct SessionChanges<'a>(pub(crate) &'a Client);

/// The images that a session has generated.
#[derive(Clone, Copy)]
pub struct ImageGallery<'a>(pub(crate) &'a Client);

/// Memories of all sessions.
#[derive(Clone, Copy)]
pub struct Memories<'a>(pub(crate) &'a Client);

/// Standing rules and trusted folders.
#[derive(Clone, Copy)]
pub struct Permissions<'a>(pub(crate) &'a Client);

/// MCP servers and their tools.
#[derive(Clone, Copy)]
pub struct Servers<'a>(pub(crate) &'a Client);

/// Tokens, the audit log, and the state of the store.
#[derive(Clone, Copy)]
pub struct Admin<'a>(pub(crate) &'a Client);

/// Commands that continue in the background.
#[derive(Clone, Copy)]
pub struct BackgroundCommands<'a>(pub(crate) &'a Client);

/// Stored texts and bytes by name.
#[derive(Clone, Copy)]
pub struct Refs<'a>(pub(crate) &'a Client);

impl Client {
    pub fn sessions(&self) -> Sessions<'_> {
        Sessions(self)
    }

    pub fn requests(&self) -> Requests<'_> {
        Requests(self)
    }

    /// What sessions have changed in files.
    pub fn changes(&self) -> SessionChanges<'_> {
        SessionChanges(self)
    }

    /// The images that a session has generated.
    pub fn gallery(&self) -> ImageGallery<'_> {
        ImageGallery(self)
    }

    /// Memories of all sessions.
    pub fn memory(&self) -> Memories<'_> {
        Memories(self)
    }

    /// Standing rules and trusted folders.
    pub fn permissions(&self) -> Permissions<'_> {
        Permissions(self)
    }

    /// Tokens, the audit log, and the state of the store.
    pub fn admin(&self) -> Admin<'_> {
        Admin(self)
    }

    /// Commands that continue in the background.
    pub fn commands(&self) -> BackgroundCommands<'_> {
        BackgroundCommands(self)
    }

    /// Stored texts and bytes by name.
    pub fn refs(&self) -> Refs<'_> {
        Refs(self)
    }
}
