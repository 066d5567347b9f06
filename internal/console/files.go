package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

//go:embed dist
var built embed.FS

// assets is the folder of files whose names hold a hash of their content: another content has another name.
const assets = "assets/"

// types are the kinds of files that a build has. A file of another kind stops the start: its type would be guessed.
var types = map[string]string{
	".html":        "text/html; charset=utf-8",
	".js":          "text/javascript; charset=utf-8",
	".css":         "text/css; charset=utf-8",
	".svg":         "image/svg+xml",
	".webmanifest": "application/manifest+json",
	".woff2":       "font/woff2",
}

// file is one answer, made ready at the start.
type file struct {
	body, packed []byte // packed is gzipped; nil where that is no shorter
	contentType  string
	tag          string // a strong ETag of body
	cache        string
}

// load makes the table from URL path to file of a build.
func load(dist fs.FS) (map[string]*file, error) {
	files := map[string]*file{}
	err := fs.WalkDir(dist, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := fs.ReadFile(dist, name)
		if err != nil {
			return err
		}
		f, err := makeFile(name, body)
		if err != nil {
			return err
		}
		files["/"+name] = f
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	index, ok := files["/index.html"]
	if !ok {
		return nil, fmt.Errorf("console: the build has no index.html")
	}
	files["/"] = index
	delete(files, "/index.html") // one page, one address
	return files, nil
}

func makeFile(name string, body []byte) (*file, error) {
	kind, ok := types[path.Ext(name)]
	if !ok {
		return nil, fmt.Errorf("%s is of no known type", name)
	}
	sum := sha256.Sum256(body)
	f := &file{body: body, contentType: kind, tag: hex.EncodeToString(sum[:12]), cache: "no-cache"}
	if strings.HasPrefix(name, assets) {
		f.cache = "public, max-age=31536000, immutable"
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(body); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if packed.Len() < len(body) {
		f.packed = packed.Bytes()
	}
	return f, nil
}
