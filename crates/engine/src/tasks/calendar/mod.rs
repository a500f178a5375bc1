//! Tasks as iCalendar (RFC 5545) and back: tasks are `VTODO`, events are `VEVENT`. Times are written as they
//! stand on the wall, without a time zone, because that is what they mean here.

mod read;
mod rule;
mod write;

pub use read::{CalendarReading, CalendarTask, CalendarTime, Here, Zone, read};
pub use rule::rule;
pub use write::write;
