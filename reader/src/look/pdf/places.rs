//! From the XHTML that `pdftotext -bbox-layout` writes to pages with words and their places. Must not know programs.

use roxmltree::{Document, Node, ParsingOptions};

use crate::look::refusal::Refusal;
use crate::look::rows::{self, Placed};
use crate::reading::{Area, Line, Page, Word};

/// The pages of the output.
pub(super) fn pages(xhtml: &str) -> Result<Vec<Page>, Refusal> {
    // Texts of a PDF may hold control characters, which XML forbids.
    let allowed = |character: char| !character.is_control() || matches!(character, '\n' | '\t');
    let clean: String = xhtml.chars().filter(|character| allowed(*character)).collect();
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    let document = Document::parse_with_options(&clean, options).map_err(|_| Refusal::DamagedPdf)?;
    Ok(document.descendants().filter(|node| node.has_tag_name_local("page")).map(page).collect())
}

/// Compares names without the namespace of XHTML.
trait LocalName {
    fn has_tag_name_local(&self, name: &str) -> bool;
}

impl LocalName for Node<'_, '_> {
    fn has_tag_name_local(&self, name: &str) -> bool {
        self.is_element() && self.tag_name().name() == name
    }
}

fn number(node: Node<'_, '_>, name: &str) -> f32 {
    node.attribute(name).and_then(|value| value.parse::<f32>().ok()).filter(|value| value.is_finite()).unwrap_or(0.0)
}

fn page(node: Node<'_, '_>) -> Page {
    let size = (number(node, "width").max(1.0), number(node, "height").max(1.0));
    let texts: Vec<Node<'_, '_>> = node.descendants().filter(|node| node.has_tag_name_local("line")).collect();
    let placed: Vec<Placed> = texts.iter().map(|text| placed(*text)).collect();
    let lines = rows::rows(&placed)
        .into_iter()
        .map(|row| Line { words: row.into_iter().flat_map(|index| words(texts[index], size)).collect() });
    Page { aspect: size.0 / size.1, lines: lines.filter(|line| !line.words.is_empty()).collect(), ..Page::default() }
}

fn edges(node: Node<'_, '_>) -> (f32, f32, f32, f32) {
    (number(node, "xMin"), number(node, "yMin"), number(node, "xMax"), number(node, "yMax"))
}

fn placed(text: Node<'_, '_>) -> Placed {
    let (left, upper, right, lower) = edges(text);
    Placed {
        center: ((left + right) / 2.0, (upper + lower) / 2.0),
        angle: 0.0,
        length: (right - left).max(0.0),
        height: (lower - upper).max(1.0),
    }
}

fn words(text: Node<'_, '_>, (width, height): (f32, f32)) -> Vec<Word> {
    let nodes = text.children().filter(|node| node.has_tag_name_local("word"));
    let words = nodes.flat_map(|node| {
        let (left, upper, right, lower) = edges(node);
        let area = Area::around([(left / width, upper / height), (right / width, lower / height)].into_iter());
        let parts = node.text().unwrap_or_default().split_whitespace();
        parts.map(move |part| Word { text: part.to_owned(), area, score: 1.0 })
    });
    words.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_side_by_side_become_one_line() {
        let xhtml = r#"<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">
<html xmlns="http://www.w3.org/1999/xhtml"><head><title>a&amp;b</title></head><body><doc>
  <page width="200.000000" height="100.000000"><flow><block xMin="10" yMin="10" xMax="60" yMax="20">
    <line xMin="10" yMin="10" xMax="60" yMax="20"><word xMin="10" yMin="10" xMax="40" yMax="20">Total:</word></line></block></flow>
    <flow><block><line xMin="150" yMin="11" xMax="190" yMax="21"><word xMin="150" yMin="11" xMax="180" yMax="21">9,30</word>
    <word xMin="182" yMin="11" xMax="190" yMax="21">€</word></line></block></flow></page>
  <page width="200" height="100"></page></doc></body></html>"#;
        let pages = pages(xhtml).unwrap();
        assert_eq!(pages.iter().map(Page::text).collect::<Vec<_>>(), ["Total: 9,30 €", ""]);
        let area = pages[0].lines[0].words[1].area;
        assert!((area.x - 0.75).abs() < 0.001 && (area.y - 0.11).abs() < 0.001 && (area.w - 0.15).abs() < 0.001);
        assert_eq!(pages[0].aspect, 2.0);
        assert_eq!(super::pages("<html"), Err(Refusal::DamagedPdf));
    }
}
