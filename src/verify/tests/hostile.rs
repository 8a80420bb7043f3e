use super::*;

#[test]
fn hostile_input_is_quoted_briefly() {
    let long = "x".repeat(900_000);
    for wrong in [
        json!({"mediaType": "a", "dsseEnvelope": &long}),
        json!({"mediaType": &long, "dsseEnvelope": null}),
        json!([&long]),
        json!({"mediaType": {"a": &long}}),
    ] {
        let error = bundle::check(&key(P256), &manifest(), wrong.to_string().as_bytes()).unwrap_err();
        assert!(error.to_string().len() < 400, "{} bytes", error.to_string().len());
    }
    let error = stored::signatures(json!({"layers": &long}).to_string().as_bytes()).unwrap_err();
    assert!(error.to_string().contains("the manifest: not the expected JSON (line 1"), "{error}");
}
