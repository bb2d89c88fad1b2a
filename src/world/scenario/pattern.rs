//! Names and labels of many gateways in one: `gw-{n:3}` is `gw-007` for the seventh, `{n/10}` its line of ten, `{n%2}` its
//! side of a pair. The first is number 0.

/// The pattern's text for one gateway, or what is wrong with it.
pub(super) fn fill(pattern: &str, n: u32) -> Result<String, String> {
    let mut text = String::new();
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once('{') {
        let (hole, tail) = after.split_once('}').ok_or_else(|| wrong(pattern))?;
        text += before;
        text += &hole_text(hole, n).ok_or_else(|| wrong(pattern))?;
        rest = tail;
    }
    Ok(text + rest)
}

fn hole_text(hole: &str, n: u32) -> Option<String> {
    let (what, width) = hole.split_once(':').unwrap_or((hole, "0"));
    let width: usize = width.parse().ok().filter(|width| *width <= 9)?;
    let number = |text: &str| text.parse::<u32>().ok();
    let value = match what.strip_prefix('n')? {
        "" => n,
        rest => match (rest.strip_prefix('/'), rest.strip_prefix('%')) {
            (Some(by), _) => n.checked_div(number(by)?)?,
            (_, Some(by)) => n.checked_rem(number(by)?)?,
            _ => return None,
        },
    };
    Some(format!("{value:0width$}"))
}

fn wrong(pattern: &str) -> String {
    format!("{pattern:?} has a hole that is none of {{n}}, {{n:3}}, {{n/10}}, {{n%2}}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_its_tens_and_its_rest_fill_holes() {
        assert_eq!(fill("gw-{n:3}-{n/10}{n%2}", 37).as_deref(), Ok("gw-037-31"));
        assert_eq!(fill("plain", 1).as_deref(), Ok("plain"));
        for bad in ["{", "{m}", "{n/0}", "{n%0}", "{n:x}", "{n:99}", "{n*2}", "{n/}"] {
            assert!(fill(bad, 1).is_err(), "{bad}");
        }
    }
}
