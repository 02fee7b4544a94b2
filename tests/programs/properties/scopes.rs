// The library's methods have the names of C's functions.
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

struct Pool(u32);

impl Pool {
    fn free(&mut self, n: u32) {
        self.0 -= n;
    }
}

fn main() -> std::io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut client = TcpStream::connect(listener.local_addr()?)?;
    let (mut server, _) = listener.accept()?;
    client.write_all(b"hi")?;
    let mut text = [0; 2];
    server.read_exact(&mut text)?;
    let mut pool = Pool(3);
    pool.free(1);
    pool.free(1);
    println!("{} {text:?}", pool.0);
    Ok(())
}
