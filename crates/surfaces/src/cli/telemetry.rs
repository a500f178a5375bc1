//! Figures of a request for a collector that speaks OpenTelemetry's protocol. Nothing is sent unless
//! `OTEL_EXPORTER_OTLP_ENDPOINT` or `OTEL_EXPORTER_OTLP_METRICS_ENDPOINT` names one.

use serde_json::{Value, json};
use trimtab_host::{Client, Sent};
use trimtab_vocab::Time;

use super::stats::Counts;

/// Tells the collector how a request went, if there is one. A collector that fails costs the person nothing
/// but a line in the log.
pub(super) async fn report(client: &Client, sent: &Sent) {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let whole = variable("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT");
    let base = variable("OTEL_EXPORTER_OTLP_ENDPOINT");
    let Some(url) = whole.or_else(|| base.map(|base| format!("{}/v1/metrics", base.trim_end_matches('/')))) else {
        return;
    };
    let headers: Vec<(String, String)> = variable("OTEL_EXPORTER_OTLP_HEADERS")
        .iter()
        .flat_map(|all| all.split(','))
        .filter_map(|one| one.split_once('='))
        .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
        .collect();
    let figures = match Counts::of_request(client, sent).await {
        Ok((counts, began, ended)) => metrics(&counts.figures(), began, ended),
        Err(problem) => return tracing::warn!(%problem, "cannot create the metrics for the collector"),
    };
    if let Err(error) = trimtab_host::send_metrics(&url, &headers, &figures).await {
        tracing::warn!(url, error, "the collector rejects the metrics");
    }
}

/// A figure: its name, what tells it from others of that name, and how much.
pub(super) type Figure = (&'static str, Vec<(&'static str, String)>, u64);

/// Figures in OTLP's JSON form: sums of what happened since `began`.
fn metrics(figures: &[Figure], began: Time, ended: Time) -> Value {
    let text = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
    let nanos = |time: Time| format!("{}000000", time.millis());
    let metric = |(name, attributes, value): &Figure| {
        let attributes: Vec<Value> = attributes.iter().map(|(key, value)| text(key, value)).collect();
        json!({"name": name, "unit": "1", "sum": {
            "aggregationTemporality": 1, "isMonotonic": true,
            "dataPoints": [{
                "attributes": attributes, "startTimeUnixNano": nanos(began), "timeUnixNano": nanos(ended),
                "asInt": value.to_string(),
            }],
        }})
    };
    let attributes = [text("service.name", "trimtab"), text("service.version", env!("CARGO_PKG_VERSION"))];
    json!({"resourceMetrics": [{
        "resource": {"attributes": attributes},
        "scopeMetrics": [{
            "scope": {"name": "trimtab"},
            "metrics": figures.iter().map(metric).collect::<Vec<_>>(),
        }],
    }]})
}
