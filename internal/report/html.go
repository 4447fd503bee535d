package report

import (
	"bytes"
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

// pageStyle is for screen, light or dark, and for paper. Nothing is loaded.
const pageStyle = `:root{color-scheme:light dark;--ink:#1c2430;--soft:#5b6675;--line:#d5dbe3;--paper:#ffffff;--head:#f3f5f8}
@media (prefers-color-scheme:dark){:root{--ink:#e3e8ef;--soft:#9aa6b6;--line:#333d4b;--paper:#14181f;--head:#1c222c}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:62rem;margin:0 auto;padding:1.5rem}
h1{font-size:1.6rem}h2{font-size:1.25rem;margin-top:2.5rem;border-top:1px solid var(--line);padding-top:1rem;overflow-wrap:anywhere}
h3{font-size:1rem;margin-bottom:.3rem}p,li{overflow-wrap:anywhere}
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}
th,td{padding:.2rem .7rem;text-align:left;border-bottom:1px solid var(--line);vertical-align:top}th{background:var(--head)}td.n,th.n{text-align:right}td.n{white-space:nowrap}
figure{margin:1rem 0;break-inside:avoid}figure svg{width:100%;max-width:46rem;height:auto;display:block}
p.answer{font-size:1.1rem;font-weight:600}
ul.notes{color:var(--soft)}nav a{margin-right:1rem}summary{cursor:pointer;color:var(--soft)}
@media print{body{max-width:none;padding:0}details::details-content{content-visibility:visible;display:block}nav{display:none}h2{break-after:avoid}}
`

// pageText asks the network for nothing, runs no script, and says so to the browser.
const pageText = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{{clean .Title}}</title>
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<link rel="icon" href="data:,">
<style>{{style}}</style>
</head>
<body>
<h1>{{clean .Title}}</h1>
{{if gt (len .Sections) 1}}<nav>{{range $i, $s := .Sections}}<a href="#s{{$i}}">{{clean .Title}}</a>{{end}}</nav>
{{end}}{{range $i, $s := .Sections}}<section id="s{{$i}}">
<h2>{{clean .Title}}</h2>
{{if .Answer}}<p class="answer">{{clean .Answer}}</p>
{{end}}{{range .Lead}}<p>{{clean .}}</p>
{{end}}{{range .Figures}}<figure>{{figure .}}</figure>
{{end}}{{range .Tables}}{{if not .Below}}{{template "table" .}}{{end}}{{end -}}
{{if .Notes}}<ul class="notes">
{{range .Notes}}<li>{{clean .}}</li>
{{end}}</ul>
{{end}}{{range .Tables}}{{if .Below}}{{template "table" .}}{{end}}{{end}}</section>
{{end}}</body>
</html>
{{define "table"}}{{if .Rows}}{{if .Folded}}<details><summary>{{clean .Title}}</summary>{{else}}<h3>{{clean .Title}}</h3>{{end}}
{{$t := .}}<div class="wide"><table>
<tr>{{range $i, $c := .Head}}<th{{if $t.Numeric $i}} class="n"{{end}}>{{clean .}}</th>{{end}}</tr>
{{range .Rows}}<tr>{{range $i, $c := .}}<td{{if $t.Numeric $i}} class="n"{{end}}>{{clean .}}</td>{{end}}</tr>
{{end}}</table></div>
{{if .Folded}}</details>
{{end}}{{end}}{{end}}`

// pageTemplate is parsed when a page is written.
var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{
		"clean":  chart.Clean,
		"figure": func(f chart.Figure) template.HTML { return template.HTML(f.Inline()) }, // which escapes its texts
		"style":  func() template.CSS { return pageStyle + chart.Style },
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
