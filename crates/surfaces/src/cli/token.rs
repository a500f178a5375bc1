//! `trimtab token`: who may use the server.

use clap::{Args, Subcommand};
use serde_json::json;
use trimtab_host::TokenKind;
use trimtab_vocab::Problem;
use trimtab_vocab::format;

use super::output::{note, print, print_json, sanitize};
use super::{CliOutcome, place};

const EXAMPLES: &str = "\
Examples:
  trimtab token login           create a login link for a browser
  trimtab token add backup      create a token for a program
  trimtab token revoke backup";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct TokenArgs {
    #[command(subcommand)]
    action: Option<TokenAction>,
}

#[derive(Debug, Subcommand)]
enum TokenAction {
    /// Create a token for a program (shown once)
    Add {
        /// Name of the token
        name: String,
    },
    /// List tokens and logged-in browsers [default]
    List {
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Revoke a token
    Revoke {
        /// Name of the token
        name: String,
    },
    /// Create a one-time login link for a browser
    Login,
}

impl TokenArgs {
    pub(super) async fn execute(self) -> Result<CliOutcome, Problem> {
        let (profile, client) = place::open(&[])?;
        let client = client.on("cli");
        match self.action.unwrap_or(TokenAction::List { json: false }) {
            TokenAction::Add { name } => {
                let secret = client.admin().add_token(&name).await?;
                print(&format!("{secret}\n"))?;
                note(&format!(
                    "Copy it now. It is not shown again. Send it as `Authorization: Bearer …`. \
                     `trimtab token revoke {name}` revokes it."
                ));
            }
            TokenAction::List { json } => {
                let (rows, now) = (client.admin().tokens().await?, trimtab_host::now());
                for row in &rows {
                    let kind = match row.kind {
                        TokenKind::Program => "program",
                        TokenKind::Browser => "browser",
                        TokenKind::Login => "login",
                    };
                    if json {
                        print_json(&json!({
                            "name": row.name, "kind": kind, "created": row.created, "expires": row.expires,
                        }))?;
                    } else {
                        print(&format!("{:<24}  {kind:<8}  {}\n", row.name, format::age(row.created, now)))?;
                    }
                }
                if rows.is_empty() && !json {
                    print("There are no tokens.\n")?;
                }
            }
            TokenAction::Revoke { name } => {
                client.admin().revoke_token(&name).await?;
                print(&format!("Revoked token {}.\n", sanitize(&name)))?;
            }
            TokenAction::Login => {
                let url = trimtab_host::running_server(&profile.data).ok_or_else(|| {
                    Problem::new(trimtab_vocab::ProblemKind::NotFound, "No server is running for this data folder.")
                        .hint("Start one with `trimtab serve`, which prints a login link.")
                })?;
                print(&format!("{url}/login?token={}\n", client.admin().add_login().await?))?;
                note("Works for one browser, within 15 minutes.");
            }
        }
        Ok(CliOutcome::Done)
    }
}
