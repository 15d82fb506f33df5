//! Writes the well-formed samples of each door as files, for the fuzz targets to start from.

use sim::inputs;
use std::path::Path;

fn main() -> std::io::Result<()> {
    let root = std::env::args().nth(1).unwrap_or_else(|| "fuzz/corpus".to_owned());
    let doors = [
        ("packets", inputs::packet_samples()),
        ("rows", inputs::row_samples()),
        ("log", inputs::log_samples()),
        ("statements", inputs::statement_samples()),
    ];
    for (door, samples) in doors {
        let folder = Path::new(&root).join(door);
        std::fs::create_dir_all(&folder)?;
        for (number, sample) in samples.iter().enumerate() {
            std::fs::write(folder.join(format!("sample-{number:02}")), sample)?;
        }
        println!("{}: {} samples", folder.display(), samples.len());
    }
    Ok(())
}
