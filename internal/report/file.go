package report

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"piton/internal/chart"
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
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", "", fmt.Errorf("write the report: %w", err)
	}
	var figures []chart.Figure
	for _, s := range p.Sections {
		figures = append(figures, s.Figures...)
	}
	if err := WriteFile(html, p); err != nil {
		return "", "", err
	}
	return html, svg, replace(svg, chart.SVG(figures))
}

func replace(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".")
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	defer os.Remove(f.Name()) // gone already when all went well
	_, err = f.Write(content)
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}
