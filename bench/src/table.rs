//! Figures, side by side.

use std::fmt;
use std::time::Duration;

/// A table of figures; each row has what it is compared with.
#[derive(Debug, Default)]
pub struct Table {
    rows: Vec<[String; 4]>,
}

impl Table {
    /// Adds durations, with a baseline from the same run.
    pub fn durations(&mut self, what: &str, mut times: Vec<Duration>, beside: Option<(&str, Duration)>) {
        times.sort();
        let (middle, worst) = (median(&times), times.last().copied().unwrap_or_default());
        let compared = match beside {
            Some((name, other)) if !other.is_zero() => {
                format!("{:.1} x {name} ({})", middle.as_secs_f64() / other.as_secs_f64(), show(other))
            }
            _ => String::new(),
        };
        self.rows.push([what.to_owned(), show(middle), show(worst), compared]);
    }

    /// Adds how many bytes a second are worked on, with what the plainest work on them takes.
    pub fn rate(&mut self, what: &str, bytes: usize, took: Duration, beside: Option<(&str, Duration)>) {
        let rate = format!("{:.0} MB/s", bytes as f64 / 1e6 / took.as_secs_f64().max(1e-9));
        let compared = beside.map(|(name, other)| {
            format!(
                "{:.1} x {name} ({} for {:.1} MB)",
                took.as_secs_f64() / other.as_secs_f64(),
                show(other),
                bytes as f64 / 1e6
            )
        });
        self.rows.push([what.to_owned(), rate, show(took), compared.unwrap_or_default()]);
    }

    /// Adds a size.
    pub fn size(&mut self, what: &str, bytes: u64, note: &str) {
        self.rows.push([what.to_owned(), format!("{:.1} kB", bytes as f64 / 1_000.0), String::new(), note.to_owned()]);
    }
}

/// The middle of sorted times.
pub fn median(sorted: &[Duration]) -> Duration {
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

fn show(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1_000.0)
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<60} {:>12} {:>12}  beside", "", "median", "worst")?;
        for [what, middle, worst, beside] in &self.rows {
            writeln!(f, "{what:<60} {middle:>12} {worst:>12}  {beside}")?;
        }
        Ok(())
    }
}
