//! What a person decided, what is remembered, the trail and tokens, in memory.

use async_trait::async_trait;
use trimtab_vocab::{MemoryEntry, MemoryId};
use trimtab_world::store::{
    AccessStore, AuditEntry, AuditLine, AuditStore, MemoryChange, NewInput, RecallStore, Recipient, Result, RuleChange,
    RuleStore, TokenKind, TokenRow,
};

use super::{MemoryStore, State};

#[async_trait]
impl RuleStore for MemoryStore {
    async fn rules(&self) -> Result<Vec<String>> {
        self.operate(|state, _| Ok(state.rules.clone())).await
    }

    async fn change_rules(&self, change: RuleChange, tell: Vec<(Recipient, NewInput)>) -> Result<()> {
        self.write(|state, _| {
            state.change_rules(change);
            state.tell(None, tell);
            Ok(())
        })
        .await
    }
}

#[async_trait]
impl RecallStore for MemoryStore {
    async fn memories(&self, folder: Option<&str>, limit: u32) -> Result<Vec<MemoryEntry>> {
        self.operate(|state, _| {
            let holds =
                |entry: &&MemoryEntry| folder.is_none() || entry.folder.is_none() || entry.folder.as_deref() == folder;
            let known: Vec<MemoryEntry> = state.remembered.iter().filter(holds).cloned().collect();
            Ok(known[known.len().saturating_sub(limit as usize)..].to_vec())
        })
        .await
    }

    async fn memory(&self, id: &MemoryId) -> Result<Option<MemoryEntry>> {
        self.operate(|state, _| Ok(state.remembered.iter().find(|entry| entry.id == *id).cloned())).await
    }

    async fn change_memory(&self, change: MemoryChange) -> Result<Option<MemoryEntry>> {
        self.write(|state, _| {
            let (id, told) = (change.id().clone(), change.audit());
            let known = state.remembered.iter().find(|entry| entry.id == id).cloned();
            let Some((entry, goes)) = change.apply(known) else { return Ok(None) };
            match goes {
                true => state.remembered.retain(|known| known.id != id),
                false => state.remember(entry.clone()),
            }
            state.put_audit(&[told]);
            Ok(Some(entry))
        })
        .await
    }
}

#[async_trait]
impl AuditStore for MemoryStore {
    async fn audit_lines(&self, after: u64, limit: u32) -> Result<Vec<AuditLine>> {
        let of = |state: &mut State, _| {
            Ok(state.audit.iter().filter(|line| line.n > after).take(limit as usize).cloned().collect())
        };
        self.operate(of).await
    }

    async fn audit_written(&self) -> Result<u64> {
        self.operate(|state, _| Ok(state.audit.len() as u64)).await
    }

    async fn add_audit(&self, entry: AuditEntry) -> Result<()> {
        self.operate(|state, _| {
            state.put_audit(std::slice::from_ref(&entry));
            Ok(())
        })
        .await
    }
}

#[async_trait]
impl AccessStore for MemoryStore {
    async fn add_token(&self, hash: &str, row: TokenRow) -> Result<()> {
        self.write(|state, _| state.put_token(hash, row)).await
    }

    async fn token(&self, hash: &str) -> Result<Option<TokenRow>> {
        self.operate(|state, _| Ok(state.tokens.get(hash).cloned())).await
    }

    async fn tokens(&self) -> Result<Vec<TokenRow>> {
        self.operate(|state, _| {
            let mut rows: Vec<TokenRow> = state.tokens.values().cloned().collect();
            rows.sort_by(|a, b| (a.created, &a.name).cmp(&(b.created, &b.name)));
            Ok(rows)
        })
        .await
    }

    async fn exchange_token(&self, login: &str, hash: &str, row: TokenRow) -> Result<bool> {
        self.write(|state, _| {
            let holds = |known: &TokenRow| known.kind == TokenKind::Login && known.holds(row.created);
            if !state.tokens.get(login).is_some_and(holds) {
                return Ok(false);
            }
            state.tokens.remove(login);
            state.put_token(hash, row)?;
            Ok(true)
        })
        .await
    }

    async fn revoke_token(&self, name: &str) -> Result<bool> {
        self.write(|state, _| {
            let before = state.tokens.len();
            state.tokens.retain(|_, row| row.name != name);
            Ok(state.tokens.len() < before)
        })
        .await
    }
}
