"""Reports as text, JSON and SARIF."""
