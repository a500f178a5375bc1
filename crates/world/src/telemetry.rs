//! Sends metrics to an OpenTelemetry collector (OTLP over HTTP, as JSON), only if the user has set one.

use std::time::Duration;

use serde_json::Value;

/// A collector that does not answer by then is not waited for: figures are not worth the user's time.
const PATIENCE: Duration = Duration::from_secs(2);

/// Sends figures; says what went wrong, if something did.
pub async fn send(url: &str, headers: &[(String, String)], figures: &Value) -> Result<(), String> {
    // Fails if it is already installed, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = || reqwest::Client::builder().timeout(PATIENCE).redirect(reqwest::redirect::Policy::none());
    let client =
        builder().build().or_else(|_| builder().tls_certs_only([]).build()).map_err(|error| error.to_string())?;
    let mut request = client.post(url).header("content-type", "application/json").body(figures.to_string());
    for (name, value) in headers {
        request = request.header(name, value);
    }
    let response = request.send().await.map_err(|error| crate::models::causes(&error))?;
    if response.status().is_success() { Ok(()) } else { Err(format!("it answers {}", response.status().as_u16())) }
}
