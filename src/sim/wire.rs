//! Listening sockets whose connections can be cut: a reset is a fault like any other.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

/// Cuts the connection that it belongs to.
#[derive(Debug, Clone, Default)]
pub struct Cut(Arc<AtomicBool>);

impl Cut {
    /// From now on nothing passes, and closing sends a reset.
    pub fn cut(&self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// A connection that can be cut.
#[derive(Debug)]
pub struct Wire {
    stream: TcpStream,
    cut: Cut,
}

impl Wire {
    fn check(&self) -> io::Result<()> {
        if !self.cut.0.load(Ordering::SeqCst) {
            return Ok(());
        }
        // With no linger the kernel sends RST, as a broken network would look.
        self.stream.set_zero_linger()?;
        Err(io::Error::from(io::ErrorKind::ConnectionReset))
    }
}

impl AsyncRead for Wire {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// A listener on loopback.
#[derive(Debug)]
pub struct Door {
    listener: TcpListener,
}

impl Door {
    /// Opens a port on 127.0.0.1; 0 picks a free one.
    pub async fn open(port: u16) -> io::Result<(Self, SocketAddr)> {
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        let addr = listener.local_addr()?;
        Ok((Self { listener }, addr))
    }
}

impl Listener for Door {
    type Io = Wire;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Wire, SocketAddr) {
        let (stream, addr) = Listener::accept(&mut self.listener).await;
        // Small answers would otherwise wait for the client's acknowledgement (Nagle).
        drop(stream.set_nodelay(true));
        (Wire { stream, cut: Cut::default() }, addr)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

impl Connected<IncomingStream<'_, Door>> for Cut {
    fn connect_info(stream: IncomingStream<'_, Door>) -> Self {
        stream.io().cut.clone()
    }
}
