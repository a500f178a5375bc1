//! Import and export of tasks as iCalendar (RFC 5545): tasks are `VTODO`, events are `VEVENT`. Times are written as
//! local times without a time zone, because that is what they mean here.

mod read;
mod rule;
mod write;

pub use read::{CalendarReading, CalendarTask, CalendarTime, Here, Zone, read};
pub use rule::rule;
pub use write::write;
