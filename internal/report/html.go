package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"path/filepath"
	"strings"

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

// HTML writes the page, one file. html/template would keep every exported method of the program
// in the binary, as it calls methods by name.
func HTML(w io.Writer, p Page) error {
	var b body
	if len(p.Sections) > 1 {
		b.add("<nav>")
		for i, s := range p.Sections {
			b.add(fmt.Sprintf(`<a href="#s%d">`, i), s.Title, "</a>")
		}
		b.add("</nav>\n")
	}
	for i, s := range p.Sections {
		b.section(i, s)
	}
	_, err := strings.NewReplacer("{{title}}", chart.Escape(p.Title), "{{style}}", chart.Style, "{{body}}", b.String()).WriteString(w, pageText)
	return err
}

// body is markup that is being written.
type body struct{ strings.Builder }

// add adds markup, then text, escaped, then markup and so on.
func (b *body) add(parts ...string) {
	for i, part := range parts {
		if i%2 == 1 {
			part = chart.Escape(part)
		}
		b.WriteString(part)
	}
}

func (b *body) section(number int, s Section) {
	b.add(fmt.Sprintf("<section id=\"s%d\">\n<h2>", number), s.Title, "</h2>\n")
	if s.Answer != "" {
		b.add(`<p class="answer">`, s.Answer, "</p>\n")
	}
	for _, sentence := range s.Lead {
		b.add("<p>", sentence, "</p>\n")
	}
	for _, f := range s.Figures {
		b.add("<figure>" + f.Inline() + "</figure>\n") // which escapes its texts
	}
	b.tables(s.Tables, false)
	if len(s.Notes) > 0 {
		b.add("<ul class=\"notes\">\n")
		for _, note := range s.Notes {
			b.add("<li>", note, "</li>\n")
		}
		b.add("</ul>\n")
	}
	b.tables(s.Tables, true)
	b.add("</section>\n")
}

// tables adds those that have rows, of those that are below the notes or are not.
func (b *body) tables(all []Table, below bool) {
	for _, t := range all {
		if t.Below != below || len(t.Rows) == 0 {
			continue
		}
		if t.Folded {
			b.add("<details><summary>", t.Title, "</summary>")
		} else {
			b.add("<h3>", t.Title, "</h3>")
		}
		b.add("\n<div class=\"wide\"><table>\n")
		class := make([]string, len(t.Head))
		for i := range class {
			if t.Numeric(i) {
				class[i] = ` class="n"`
			}
		}
		b.row("th", class, t.Head)
		for _, row := range t.Rows {
			b.row("td", class, row)
		}
		b.add("</table></div>\n")
		if t.Folded {
			b.add("</details>\n")
		}
	}
}

func (b *body) row(element string, class, cells []string) {
	b.add("<tr>")
	for i, cell := range cells {
		b.add("<"+element+class[i]+">", cell, "</"+element+">")
	}
	b.add("</tr>\n")
}

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
