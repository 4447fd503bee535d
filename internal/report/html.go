package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"path/filepath"
	"sync"

	"piton/internal/chart"
	"piton/internal/userfile"
)

// Page is an HTML page.
type Page struct {
	Title    string
	Sections []Section
}

// pageText is for screen, light or dark, and for paper. It asks the network for nothing, runs no
// script, and says so to the browser.
//
//go:embed page.html
var pageText string

// pageTemplate is parsed when a page is written.
var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{
		"clean":  chart.Clean,
		"figure": func(f chart.Figure) template.HTML { return template.HTML(f.Inline()) }, // which escapes its texts
		"style":  func() template.CSS { return template.CSS(chart.Style) },
	}).Parse(pageText))
})

// HTML writes the page, one file.
func HTML(w io.Writer, p Page) error { return pageTemplate().Execute(w, p) }

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
