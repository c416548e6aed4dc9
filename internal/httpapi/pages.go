package httpapi

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	contract "example.com/bankapi/api"
	"example.com/bankapi/docs/problems"
)

//go:embed pages/*.html
var pageFiles embed.FS

var pages = template.Must(template.ParseFS(pageFiles, "pages/*.html"))

// pagePolicy lets our own pages have their style and nothing else.
const pagePolicy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func sendPage(w http.ResponseWriter, html []byte) {
	setHeader(w.Header(), "Content-Security-Policy", pagePolicy)
	send(w, http.StatusOK, "text/html; charset=utf-8", html)
}

// home is the page for people who open the API in a browser.
func (a *api) home(w http.ResponseWriter, r *http.Request) error {
	scheme := "http://"
	if a.BehindTLS {
		scheme = "https://"
	}
	var html bytes.Buffer
	if err := pages.ExecuteTemplate(&html, "home.html", scheme+r.Host); err != nil {
		return fmt.Errorf("render home page: %w", err)
	}
	sendPage(w, html.Bytes())
	return nil
}

func (a *api) openAPI(w http.ResponseWriter, _ *http.Request) error {
	send(w, http.StatusOK, "application/yaml", contract.Spec)
	return nil
}

// problemPage is what a problem's type leads to: Markdown for programs, HTML for browsers.
func (a *api) problemPage(w http.ResponseWriter, r *http.Request) error {
	page, ok := a.problemPages[pathParam(r, "slug")]
	if !ok {
		return errNotFound
	}
	setHeader(w.Header(), "Vary", "Accept")
	if strings.Contains(r.Header.Get("Accept"), "text/html") {
		sendPage(w, page.html)
		return nil
	}
	send(w, http.StatusOK, "text/markdown; charset=utf-8", page.markdown)
	return nil
}

type problemPage struct{ markdown, html []byte }

// renderProblemPages renders every page once, at start-up.
func renderProblemPages() (map[string]problemPage, error) {
	files, err := fs.Glob(problems.FS, "*.md")
	if err != nil {
		return nil, err
	}
	rendered := map[string]problemPage{}
	for _, file := range files {
		markdown, err := fs.ReadFile(problems.FS, file)
		if err != nil {
			return nil, err
		}
		html, err := renderMarkdown(markdown)
		if err != nil {
			return nil, fmt.Errorf("render %s: %w", file, err)
		}
		rendered[strings.TrimSuffix(file, ".md")] = problemPage{markdown: markdown, html: html}
	}
	return rendered, nil
}

func renderMarkdown(markdown []byte) ([]byte, error) {
	var body, page bytes.Buffer
	if err := goldmark.New(goldmark.WithExtensions(extension.GFM)).Convert(markdown, &body); err != nil {
		return nil, err
	}
	title, _, _ := strings.Cut(strings.TrimLeft(string(markdown), "# "), "\n")
	err := pages.ExecuteTemplate(&page, "problem.html", struct {
		Title string
		Body  template.HTML
	}{title, template.HTML(body.String())}) //nolint:gosec // our own embedded page
	return page.Bytes(), err
}
