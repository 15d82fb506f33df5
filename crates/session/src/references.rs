//! The REFERENCES that statements write: for their privileges, and for the keys themselves.

use syntax::ast;

/// Every REFERENCES of what stands between the parentheses of CREATE TABLE.
pub fn references_of_elements<'s>(
    elements: &'s [ast::TableElement<'s>],
) -> impl Iterator<Item = &'s ast::References<'s>> {
    elements.iter().filter_map(|element| match element {
        ast::TableElement::ForeignKey(key) => Some(&key.references),
        ast::TableElement::Column(column) => column.references,
        _ => None,
    })
}

/// Every REFERENCES of ALTER TABLE.
pub fn references_of_actions<'s>(actions: &'s [ast::AlterAction<'s>]) -> Vec<&'s ast::References<'s>> {
    use ast::AlterAction as A;
    let mut references = Vec::new();
    for action in actions {
        match action {
            A::AddForeignKey(key) => references.push(&key.references),
            A::AddColumn(column, _) | A::ModifyColumn(column, _) | A::ChangeColumn(_, column, _) => {
                references.extend(column.references);
            }
            A::AddElements(elements) => references.extend(references_of_elements(elements)),
            _ => {}
        }
    }
    references
}
