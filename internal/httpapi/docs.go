package httpapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"regexp"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/swaggest/swgui/v5emb"
)

// docsUI is Swagger UI over our document, with its assets embedded: it loads nothing from elsewhere.
type docsUI struct {
	page   []byte
	policy string
	assets http.Handler
}

// docsAssets are the files the page loads.
var docsAssets = map[string]bool{
	"swagger-ui.css": true, "swagger-ui-bundle.js": true, "swagger-ui-standalone-preset.js": true,
	"favicon-16x16.png": true, "favicon-32x32.png": true,
}

func newDocsUI() docsUI {
	ui := v5emb.New("bankapi", "/openapi.yaml", "/docs")
	page := capture{header: http.Header{}}
	request, _ := http.NewRequestWithContext(context.Background(), http.MethodGet, "/docs", nil)
	ui.ServeHTTP(&page, request)
	return docsUI{page: page.body.Bytes(), policy: docsPolicy(page.body.String()), assets: ui}
}

var inlineScript = regexp.MustCompile(`(?s)<script>(.*?)</script>`)

// docsPolicy allows the page its own inline scripts by their hashes, so that no other could run.
func docsPolicy(page string) string {
	scripts := []string{"script-src 'self'"}
	for _, match := range inlineScript.FindAllStringSubmatch(page, -1) {
		digest := sha256.Sum256([]byte(match[1]))
		scripts = append(scripts, "'sha256-"+base64.StdEncoding.EncodeToString(digest[:])+"'")
	}
	return "default-src 'none'; " + strings.Join(scripts, " ") +
		"; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

func (a *api) docsPage(w http.ResponseWriter, _ *http.Request) error {
	setHeader(w.Header(), "Content-Security-Policy", a.docs.policy)
	send(w, http.StatusOK, "text/html; charset=utf-8", a.docs.page)
	return nil
}

// docsAsset serves one of the page's files. Browsers may keep it if they ask whether it has changed.
func (a *api) docsAsset(w http.ResponseWriter, r *http.Request) error {
	if !docsAssets[chi.URLParam(r, "asset")] {
		return errNotFound
	}
	setHeader(w.Header(), "Cache-Control", "no-cache")
	a.docs.assets.ServeHTTP(w, r)
	return nil
}

// capture is a ResponseWriter that keeps what is written to it.
type capture struct {
	header http.Header
	body   bytes.Buffer
}

func (c *capture) Header() http.Header         { return c.header }
func (c *capture) Write(b []byte) (int, error) { return c.body.Write(b) }
func (c *capture) WriteHeader(int)             {}
