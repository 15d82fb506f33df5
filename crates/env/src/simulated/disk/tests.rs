//! What a simulated crash may do and what it may not.

use super::*;
use crate::simulated::SimWorld;

fn folder(world: &SimWorld) -> Arc<dyn Folder> {
    world.env().disk.folder(Path::new("/d"), true).unwrap()
}

fn make(folder: &dyn Folder, name: &str, bytes: &[u8]) -> Arc<dyn File> {
    let file = folder.open(name, FileOptions::create_new()).unwrap();
    file.write_at(0, bytes).unwrap();
    file.sync().unwrap();
    folder.sync().unwrap();
    file
}

#[test]
fn synced_bytes_and_names_survive_every_crash() {
    for seed in 0..300 {
        let mut world = SimWorld::new(seed);
        make(&*folder(&world), "a", b"first");
        for _ in 0..3 {
            folder(&world).rename("a", "b").unwrap();
            folder(&world).sync().unwrap();
            folder(&world).rename("b", "a").unwrap();
            world = world.crash();
            let names = folder(&world).list().unwrap();
            assert_eq!(names.len(), 1, "seed {seed}: either name, never both, never none: {names:?}");
            assert_eq!(world.disk().content(Path::new("/d"), &names[0]).unwrap(), b"first");
            if names[0] == "b" {
                folder(&world).rename("b", "a").unwrap();
            }
        }
    }
}

#[test]
fn unsynced_writes_are_kept_lost_torn_and_reordered() {
    let (mut lost, mut kept, mut torn, mut reordered) = (0, 0, 0, 0);
    for seed in 0..500 {
        let world = SimWorld::new(seed);
        let file = make(&*folder(&world), "a", &[0; 4 * SECTOR_BYTES]);
        file.write_at(0, &[1; 2 * SECTOR_BYTES]).unwrap();
        file.write_at(2 * SECTOR_BYTES as u64, &[2; 2 * SECTOR_BYTES]).unwrap();
        let after = world.crash();
        assert!(is_crash(&file.sync().unwrap_err()), "an old handle is dead");
        let image = after.disk().content(Path::new("/d"), "a").unwrap();
        assert_eq!(image.len(), 4 * SECTOR_BYTES);
        let sectors: Vec<u8> = image
            .chunks(SECTOR_BYTES)
            .map(|sector| {
                assert!(sector.iter().all(|&byte| byte == sector[0]), "a sector is whole");
                sector[0]
            })
            .collect();
        match sectors[..] {
            [0, 0, 0, 0] => lost += 1,
            [1, 1, 2, 2] => kept += 1,
            [0, 0, _, _] => reordered += 1,
            _ => torn += 1,
        }
    }
    assert!(lost > 20 && kept > 20 && torn > 20 && reordered > 10, "{lost} {kept} {torn} {reordered}");
}

#[test]
fn a_planned_crash_comes_at_its_change_and_the_same_seed_repeats_it() {
    let run = |seed| {
        let world = SimWorld::new(seed);
        let file = make(&*folder(&world), "a", &[7; 2000]);
        world
            .disk()
            .plan(Faults { crash_at_change: Some(world.disk().counts().changes + 3), ..Faults::default() });
        let mut done = 0;
        let error = loop {
            match file.write_at(done * 100, &[8; 100]) {
                Ok(()) => done += 1,
                Err(error) => break error,
            }
        };
        assert!(is_crash(&error) && world.disk().is_crashed());
        assert_eq!(done, 2);
        assert!(is_crash(&file.read_at(0, &mut [0]).unwrap_err()));
        world.crash().disk().content(Path::new("/d"), "a").unwrap()
    };
    assert_eq!(run(11), run(11));
    assert!((0..50).any(|seed| run(seed) != run(11)));
}

#[test]
fn a_failed_sync_fails_once_and_what_it_lost_stays_lost() {
    let mut lost = 0;
    for seed in 0..100 {
        let world = SimWorld::new(seed);
        let file = make(&*folder(&world), "a", &[0; 100]);
        file.write_at(0, &[1; 100]).unwrap();
        world.disk().plan(Faults { fail_sync_at_change: Some(0), ..Faults::default() });
        assert_eq!(file.sync().unwrap_err().raw_os_error(), Some(libc::EIO));
        file.sync().unwrap(); // Says yes, but the kernel had dropped the page.
        let mut bytes = [0; 100];
        file.read_at(0, &mut bytes).unwrap();
        assert_eq!(bytes, [1; 100], "the cache still shows it");
        lost += u32::from(world.crash().disk().content(Path::new("/d"), "a").unwrap() == [0; 100]);
    }
    assert!(lost > 20, "{lost}");
}

#[test]
fn full_disk_failing_writes_and_failing_reads_say_so() {
    let world = SimWorld::new(1);
    let folder = folder(&world);
    let file = make(&*folder, "a", &[1; 1000]);
    world.disk().plan(Faults { space_bytes_max: Some(1500), ..Faults::default() });
    assert_eq!(file.write_at(1000, &[2; 501]).unwrap_err().kind(), io::ErrorKind::StorageFull);
    file.write_at(1000, &[2; 500]).unwrap();
    file.write_at(0, &[3; 1500]).unwrap();
    assert_eq!(file.allocate(0, 1501).unwrap_err().kind(), io::ErrorKind::StorageFull);
    folder.remove("a").unwrap();
    make(&*folder, "b", &[4; 1500]);
    world.disk().plan(Faults {
        fail_write_at_change: Some(0),
        fail_reads_per_million: 1_000_000,
        ..Faults::default()
    });
    assert_eq!(file.write_at(0, &[5; 10]).unwrap_err().raw_os_error(), Some(libc::EIO));
    file.write_at(0, &[5; 10]).unwrap();
    assert_eq!(file.read_at(0, &mut [0]).unwrap_err().raw_os_error(), Some(libc::EIO));
    let read_only = folder.open("b", FileOptions::read_only()).unwrap();
    assert!(read_only.write_at(0, b"x").is_err());
    assert!(world.disk().flip_bit(Path::new("/d"), "b", 3, 0));
    assert_eq!(world.disk().content(Path::new("/d"), "b").unwrap()[..5], [4, 4, 4, 5, 4]);
    let lock = folder.lock("lock").unwrap();
    assert_eq!(folder.lock("lock").unwrap_err().kind(), io::ErrorKind::WouldBlock);
    drop(lock);
    folder.lock("lock").unwrap();
    assert!(world.disk().counts().busy_nanos > 0);
}

#[test]
fn a_flipped_bit_stays_until_its_byte_is_written() {
    let mut world = SimWorld::new(5);
    make(&*folder(&world), "a", &[0; 2 * SECTOR_BYTES]);
    let flip = |world: &SimWorld, offset: usize| world.disk().flip_bit(Path::new("/d"), "a", offset, 1);
    let read = |world: &SimWorld| {
        let mut bytes = [0; 600];
        folder(world).open("a", FileOptions::existing()).unwrap().read_at(400, &mut bytes).unwrap();
        (bytes[0], bytes[500])
    };
    assert!(flip(&world, 400) && flip(&world, 900) && !flip(&world, 2 * SECTOR_BYTES));
    assert_eq!(read(&world), (2, 2));
    world = world.crash();
    assert_eq!(read(&world), (2, 2));
    folder(&world).open("a", FileOptions::existing()).unwrap().write_at(890, &[7; 20]).unwrap();
    assert_eq!(read(&world), (2, 7));
    assert_eq!(world.disk().mend(), 1);
    assert_eq!(read(&world), (0, 7));
    assert!(flip(&world, 401) && flip(&world, 401));
    assert_eq!(world.disk().content(Path::new("/d"), "a").unwrap()[401], 0);
    assert_eq!(world.disk().lengths(Path::new("/d")), [("a".to_owned(), 2 * SECTOR_BYTES)]);
}
