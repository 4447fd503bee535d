package report

import (
	"bytes"
	"fmt"
	"path/filepath"

	"piton/internal/userfile"
)

// WriteFile writes the page to a file, whole or not at all.
func WriteFile(path string, p Page) error {
	var page bytes.Buffer
	if err := HTML(&page, p); err != nil {
		return err
	}
	return replace(path, page.Bytes())
}

// WriteFiles writes the page and, as one SVG, its figures into a directory, and
// returns their paths.
func WriteFiles(dir, name string, p Page) (html, svg string, err error) {
	html, svg = filepath.Join(dir, name+".html"), filepath.Join(dir, name+".svg")
	if err := userfile.MakeDir(dir); err != nil {
		return "", "", fmt.Errorf("write the report: %w", err)
	}
	if err := WriteFile(html, p); err != nil {
		return "", "", err
	}
	return html, svg, replace(svg, SVG(p.Sections))
}

func replace(path string, content []byte) error {
	if err := userfile.Replace(path, content, 0o644); err != nil {
		return fmt.Errorf("write the report %s: %w", path, err)
	}
	return nil
}
