//! Small tables: a header line and comma-separated rows, quotes optional.

/// Rows as columns of the header, by name in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Column names, lower case.
    pub columns: Vec<String>,
    /// Cells, as many in each row as there are columns.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// Reads a table; lines with fewer cells than the header are filled up.
    pub fn parse(text: &str) -> Self {
        let mut lines = text
            .lines()
            .map(|line| line.trim_end_matches('\r'))
            .filter(|line| !line.trim().is_empty());
        let columns: Vec<String> = lines
            .next()
            .map(cells)
            .unwrap_or_default()
            .into_iter()
            .map(|cell| cell.trim().to_lowercase())
            .collect();
        let rows = lines
            .map(|line| {
                let mut row = cells(line);
                row.resize(columns.len(), String::new());
                row
            })
            .collect();
        Self { columns, rows }
    }

    /// The position of the first column whose name is one of these.
    pub fn column(&self, names: &[&str]) -> Option<usize> {
        names
            .iter()
            .find_map(|name| self.columns.iter().position(|column| column == name))
    }
}

fn cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    for character in line.chars() {
        match character {
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            _ => cells
                .last_mut()
                .expect("there is always one cell")
                .push(character),
        }
    }
    for cell in &mut cells {
        *cell = cell.trim().to_owned();
    }
    cells
}

/// One row of a table, quoted where needed.
pub fn row<'a>(cells: impl IntoIterator<Item = &'a str>) -> String {
    cells
        .into_iter()
        .map(|cell| {
            if cell.contains(',') {
                format!("\"{cell}\"")
            } else {
                cell.to_owned()
            }
        })
        .collect::<Vec<_>>()
        .join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_fit_their_header_and_quotes_hide_commas() {
        let table = Table::parse("Path,Version\r\n\"C:\\a,b\\x.dll\",8.1.0\nonly\n\n");
        assert_eq!(table.column(&["file", "path"]), Some(0));
        assert_eq!(table.rows, [[r"C:\a,b\x.dll", "8.1.0"], ["only", ""]]);
        assert_eq!(row(["a,b", "c"]), "\"a,b\",c");
        assert_eq!(Table::parse("").rows.len(), 0);
    }
}
