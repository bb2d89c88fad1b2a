//! The site file that `init` writes: short, with what people change most as comments.

/// Where a site keeps its state if its files are in the usual place.
pub(super) const STATE: &str = "/var/lib/lamplighter";

/// A site file for a new site.
pub(super) fn text(site: &str, state: &str) -> String {
    format!(
        "# The site file of Lamplighter: docs/reference/site-file.md has every field.
# `lamplighter check FILE` says what is wrong with it. Relative paths start from this file's directory.
apiVersion: lamplighter.dev/v1alpha1
kind: SiteConfig
site: {site}

# everything that must survive a power cut
state: {state}

intake:
  # rollouts, gateways, and the firmware files they name
  manifests: [manifests]

devices:
  listen: 0.0.0.0:8443

  # made by `lamplighter init`, and renewed by itself while ca.key lies beside the certificate;
  # other files that are put in their place are used at once
  tls:
    certificate: tls/server.crt
    key: tls/server.key
    # gateways may also sign in with certificates of this authority, whose common name is their controller id
    # clientCa: tls/clients.crt

  # a gateway without `auth` of its own signs in with `lamplighter token CONTROLLER_ID`
  tokens:
    siteSecretFile: site.secret

  # what links to gateways say, if they should use another name than the one they ask
  # url: https://updates.{site}:8443

  # pollInterval: 60s

# limits:
#   diskReserve: 256Mi
#   maxInFlight: 100

# /live, /ready and /metrics, for this machine; `off`: none
# metrics:
#   listen: 127.0.0.1:9797
"
    )
}
