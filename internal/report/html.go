package report

import (
	"fmt"
	"io"
	"strings"

	"piton/internal/chart"
)

// Page is an HTML page.
type Page struct {
	Title    string
	Lead     []string
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
ul.notes{color:var(--soft)}nav a{margin-right:1rem}summary{cursor:pointer;color:var(--soft)}
@media print{body{max-width:none;padding:0}details{display:none}nav{display:none}h2{break-after:avoid}}
`

// HTML writes the page. It is one file that asks the network for nothing, runs no
// script, and says so to the browser.
func HTML(w io.Writer, p Page) error {
	var out strings.Builder
	fmt.Fprintf(&out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>%s</title>\n", chart.Escape(p.Title))
	out.WriteString(`<meta name="viewport" content="width=device-width,initial-scale=1">` + "\n" +
		`<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">` + "\n" +
		`<link rel="icon" href="data:,">` + "\n")
	fmt.Fprintf(&out, "<style>%s%s</style>\n</head>\n<body>\n<h1>%s</h1>\n", pageStyle, chart.Style, chart.Escape(p.Title))
	paragraphs(&out, p.Lead)
	if len(p.Sections) > 1 {
		out.WriteString("<nav>")
		for i, s := range p.Sections {
			fmt.Fprintf(&out, `<a href="#s%d">%s</a>`, i, chart.Escape(s.Title))
		}
		out.WriteString("</nav>\n")
	}
	for i, s := range p.Sections {
		s.html(&out, i)
	}
	out.WriteString("</body>\n</html>\n")
	_, err := io.WriteString(w, out.String())
	return err
}

func paragraphs(out *strings.Builder, lines []string) {
	for _, l := range lines {
		fmt.Fprintf(out, "<p>%s</p>\n", chart.Escape(l))
	}
}

func (s Section) html(out *strings.Builder, i int) {
	fmt.Fprintf(out, "<section id=\"s%d\">\n<h2>%s</h2>\n", i, chart.Escape(s.Title))
	paragraphs(out, s.Lead)
	for _, t := range s.Tables {
		if !t.Below {
			t.html(out)
		}
	}
	for _, f := range s.Figures {
		fmt.Fprintf(out, "<figure>%s</figure>\n", f.Inline())
	}
	if len(s.Notes) > 0 {
		out.WriteString("<ul class=\"notes\">\n")
		for _, n := range s.Notes {
			fmt.Fprintf(out, "<li>%s</li>\n", chart.Escape(n))
		}
		out.WriteString("</ul>\n")
	}
	for _, t := range s.Tables {
		if t.Below {
			t.html(out)
		}
	}
	out.WriteString("</section>\n")
}

func (t Table) html(out *strings.Builder) {
	if len(t.Rows) == 0 {
		return
	}
	if t.Folded {
		fmt.Fprintf(out, "<details><summary>%s</summary>\n", chart.Escape(t.Title))
	} else {
		fmt.Fprintf(out, "<h3>%s</h3>\n", chart.Escape(t.Title))
	}
	out.WriteString("<div class=\"wide\"><table>\n")
	t.row(out, "th", t.Head)
	for _, r := range t.Rows {
		t.row(out, "td", r)
	}
	out.WriteString("</table></div>\n")
	if t.Folded {
		out.WriteString("</details>\n")
	}
}

func (t Table) row(out *strings.Builder, element string, cells []string) {
	out.WriteString("<tr>")
	for i, c := range cells {
		class := ""
		if t.numeric(i) {
			class = ` class="n"`
		}
		fmt.Fprintf(out, "<%s%s>%s</%s>", element, class, chart.Escape(c), element)
	}
	out.WriteString("</tr>\n")
}
