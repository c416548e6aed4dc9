package embedded

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is the user under whom PostgreSQL runs when the program itself is root. A nil account means: as ourselves.
//
// Such a user often cannot enter the directories above the data, a clone under /root for one. So the server is never
// told that path: it inherits the data directory as a file that root has opened (process.go).
type account struct {
	name string
	uid  int
	gid  int
}

// nobody is what the number means on every system, also one without a list of users.
const nobody = 65534

// chooseAccount returns nil for an ordinary user. For root it is whoever owns the data, else whoever owns the place
// where the data will be (a clone of alice's, run with sudo, stays alice's), else postgres, else nobody.
func chooseAccount(dir string) (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, path := range []string{filepath.Join(dir, "postgres"), dir, filepath.Dir(dir)} {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Uid != 0 {
			return &account{name: nameOf(stat.Uid), uid: int(stat.Uid), gid: int(stat.Gid)}, nil
		}
	}
	for _, name := range []string{"postgres", "nobody"} {
		if acct, err := lookUp(name); err == nil {
			return acct, nil
		}
	}
	return &account{name: "nobody", uid: nobody, gid: nobody}, nil
}

func lookUp(name string) (*account, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return nil, err
	}
	uid, uidErr := strconv.Atoi(u.Uid)
	gid, gidErr := strconv.Atoi(u.Gid)
	if uid == 0 {
		return nil, fmt.Errorf("%s is root", name)
	}
	return &account{name: name, uid: uid, gid: gid}, errors.Join(uidErr, gidErr)
}

func nameOf(uid uint32) string {
	id := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return id
}

// own hands path to the account.
func (a *account) own(path string) error {
	if a == nil {
		return nil
	}
	return os.Lchown(path, a.uid, a.gid)
}

// mkdir makes a directory that is the account's and nobody else's; one that exists is left as it is.
func (a *account) mkdir(path string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return a.own(path)
}

// credential is what the kernel is told; nil for ourselves. Groups stays empty: none of root's are inherited.
func (a *account) credential() *syscall.Credential {
	if a == nil {
		return nil
	}
	return &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
}
