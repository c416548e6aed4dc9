package httpapi_test

import (
	"io/fs"
	"testing"

	"github.com/go-chi/chi/v5"

	"example.com/bankapi/docs/problems"
	"example.com/bankapi/internal/httpapi"
	"example.com/bankapi/internal/openapitest"
)

func TestRouterAndDocumentAgree(t *testing.T) {
	t.Parallel()
	openapitest.MatchesRoutes(t, openBank(t).handler.(chi.Routes))
}

func TestProblemsAndDocumentAgree(t *testing.T) {
	t.Parallel()
	var table []openapitest.ProblemType
	for _, p := range httpapi.ProblemTypes() {
		table = append(table, openapitest.ProblemType{URI: p.URI, Title: p.Title, Status: p.Status, Retryable: p.Retryable})
	}
	openapitest.ProblemTypes(t, table)
}

func TestEveryProblemHasItsPage(t *testing.T) {
	t.Parallel()
	for _, p := range httpapi.ProblemTypes() {
		if p.Slug == "" {
			continue
		}
		if _, err := fs.Stat(problems.FS, p.Slug+".md"); err != nil {
			t.Errorf("%s: %v", p.Slug, err)
		}
	}
}
