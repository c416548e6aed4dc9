package httpapi

import (
	"net/http"
	"net/url"
	"strconv"
)

// list is one page of a list, newest first.
type list[T any] struct {
	Data       []T    `json:"data"`
	HasMore    bool   `json:"has_more"`
	NextCursor string `json:"next_cursor,omitempty"`
}

// window is the part of a list that a request asks for: at most limit items that come after the position of the last
// page's end. The zero position is the start.
type window struct {
	limit    int
	position [16]byte
	scope    string
}

// windowOf reads ?limit= and ?cursor=. scope names the list and whoever's it is: a cursor is good for that list only.
func windowOf(r *http.Request, scope string) (window, error) {
	query := r.URL.Query() // checked by then: well encoded, no parameter twice
	limit, err := limitOf(query)
	if err != nil {
		return window{}, err
	}
	position, err := cursorOf(query, scope)
	return window{limit: limit, position: position, scope: scope}, err
}

// respondList sends one page. position says where the next page begins after an item.
func respondList[R, T any](w http.ResponseWriter, r *http.Request, at window, rows []R, more bool, shape func(R) T, position func(R) [16]byte) error {
	page := list[T]{Data: make([]T, len(rows)), HasMore: more}
	for i, row := range rows {
		page.Data[i] = shape(row)
	}
	if more {
		page.NextCursor = encodeCursor(at.scope, position(rows[len(rows)-1]))
		next := url.Values{"cursor": {page.NextCursor}, "limit": {strconv.Itoa(at.limit)}}
		setHeader(w.Header(), "Link", "<"+r.URL.EscapedPath()+"?"+next.Encode()+`>; rel="next"`)
	}
	return respond(w, http.StatusOK, page)
}
