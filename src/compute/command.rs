//! Any program as a backend: prompt on stdin, text on stdout, files in a folder (DESIGN 6).
