package client

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"strings"
)

// repetition is what makes a second sending of a request safe, if anything does.
type repetition int

const (
	never repetition = iota
	read             // it changes nothing
	keyed            // its key makes the second sending the first
)

func repeatable(req *http.Request) repetition {
	if req.Body != nil && req.Body != http.NoBody && req.GetBody == nil {
		return never
	}
	keys := req.Header["Idempotency-Key"]
	switch {
	case req.Method == http.MethodGet || req.Method == http.MethodHead || req.Method == "":
		return read
	case req.Method == http.MethodPost && len(keys) == 1 && keys[0] != "":
		return keyed
	}
	return never
}

// after reports whether a request of this kind may be sent again after a failure. Without an answer res is nil.
func (r repetition) after(res *http.Response) bool {
	if r == read && res != nil {
		return res.StatusCode != http.StatusInternalServerError && res.StatusCode != http.StatusConflict
	}
	return r != never
}

// failed reports whether a try went wrong in a way that another might not.
func failed(res *http.Response, err error) bool {
	if err != nil {
		return true
	}
	switch res.StatusCode {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	case http.StatusConflict:
		return inFlight(res)
	}
	return false
}

// inFlight reports whether a 409 says that the first request with this key is still being worked on.
func inFlight(res *http.Response) bool {
	start, _ := io.ReadAll(io.LimitReader(res.Body, maxBody))
	res.Body = rejoin(start, res.Body)
	var problem struct{ Type string }
	return json.Unmarshal(start, &problem) == nil && slugOf(problem.Type) == string(ErrKeyInUse)
}

// maxBody is more than any answer of the API.
const maxBody = 1 << 20

// readWhole reads a JSON answer to its end and puts it back, so that one cut short is no answer. Others are not touched:
// they may be endless.
func readWhole(res *http.Response) error {
	kind, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" && !strings.HasSuffix(kind, "+json") {
		return nil //nolint:nilerr // an answer of no known type is not ours to read
	}
	start, err := io.ReadAll(io.LimitReader(res.Body, maxBody))
	if err != nil {
		_ = res.Body.Close()
		return err
	}
	res.Body = rejoin(start, res.Body)
	return nil
}

// rejoin is a body of which the start has been read.
func rejoin(start []byte, rest io.ReadCloser) io.ReadCloser {
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(start), rest), rest}
}
