-- A ledger as it is usually written, with the guarantees of ours: no overdraft, a transfer row with both balances, an
-- answer stored under the caller's key in the same transaction, foreign keys, statements by account. Identifiers are
-- bigint, half as wide as ours.

CREATE TABLE users (
    id    bigint PRIMARY KEY,
    email text   NOT NULL UNIQUE
);

CREATE TABLE accounts (
    id         bigint      PRIMARY KEY,
    owner_id   bigint      NOT NULL REFERENCES users,
    currency   text        NOT NULL,
    status     text        NOT NULL DEFAULT 'active',
    balance    bigint      NOT NULL CHECK (balance >= 0),
    created_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 60);

CREATE TABLE transfers (
    id           bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    from_account bigint      NOT NULL REFERENCES accounts,
    to_account   bigint      NOT NULL REFERENCES accounts,
    amount       bigint      NOT NULL CHECK (amount > 0),
    from_balance bigint      NOT NULL, -- after the transfer
    to_balance   bigint      NOT NULL, -- after the transfer
    currency     text        NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    CHECK (from_account <> to_account)
);

CREATE INDEX transfers_by_sender ON transfers (from_account, id);
CREATE INDEX transfers_by_receiver ON transfers (to_account, id);

CREATE TABLE idempotency_keys (
    user_id     bigint      NOT NULL REFERENCES users,
    scope       text        COLLATE "C" NOT NULL,
    key         text        COLLATE "C" NOT NULL,
    fingerprint bytea       NOT NULL,
    status      smallint    NOT NULL,
    body        bytea       NOT NULL,
    transfer_id bigint      REFERENCES transfers,
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, scope, key)
);

-- fingerprint and answer stand for what an API computes: they are as long as ours.
CREATE FUNCTION fingerprint(sender bigint, receiver bigint, units bigint) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
    SELECT convert_to(format('POST /transfers from_account=%s to_account=%s amount=%s currency=NGN memo=', sender, receiver, units), 'UTF8')
$$;

CREATE FUNCTION answer(transfer bigint, sender bigint, receiver bigint, units bigint) RETURNS bytea LANGUAGE sql STABLE AS $$
    SELECT convert_to(format('{"id":"tr_%s","from_account":"acct_%s","to_account":"acct_%s","amount":%s,"currency":"NGN",'
        '"memo":"","status":"completed","created_at":"%s"}',
        lpad(transfer::text, 26, '0'), lpad(sender::text, 26, '0'), lpad(receiver::text, 26, '0'), units, now()), 'UTF8')
$$;

-- transfer is the whole of it in one round trip: a replay, or locks in the order of ids, the checks, and five writes.
CREATE FUNCTION transfer(caller bigint, sender bigint, receiver bigint, units bigint, request text) RETURNS bytea
LANGUAGE plpgsql AS $$
DECLARE
    print       bytea := fingerprint(sender, receiver, units);
    earlier     idempotency_keys;
    payer       accounts;
    payee       accounts;
    transfer_id bigint;
    body        bytea;
BEGIN
    SELECT * INTO earlier FROM idempotency_keys AS k WHERE k.user_id = caller AND k.scope = 'POST /transfers' AND k.key = request;
    IF FOUND THEN
        IF earlier.fingerprint <> print THEN
            RAISE 'the key was used for another transfer';
        END IF;
        RETURN earlier.body;
    END IF;

    IF sender < receiver THEN
        SELECT * INTO payer FROM accounts WHERE id = sender FOR NO KEY UPDATE;
        SELECT * INTO payee FROM accounts WHERE id = receiver FOR NO KEY UPDATE;
    ELSE
        SELECT * INTO payee FROM accounts WHERE id = receiver FOR NO KEY UPDATE;
        SELECT * INTO payer FROM accounts WHERE id = sender FOR NO KEY UPDATE;
    END IF;
    IF payer.id IS NULL OR payee.id IS NULL OR payer.owner_id <> caller OR payer.currency <> payee.currency
        OR payer.status <> 'active' OR payee.status <> 'active' OR payer.balance < units THEN
        RAISE 'refused';
    END IF;

    INSERT INTO transfers (from_account, to_account, amount, from_balance, to_balance, currency)
    VALUES (sender, receiver, units, payer.balance - units, payee.balance + units, payer.currency)
    RETURNING id INTO transfer_id;
    UPDATE accounts SET balance = payer.balance - units WHERE id = sender;
    UPDATE accounts SET balance = payee.balance + units WHERE id = receiver;
    body := answer(transfer_id, sender, receiver, units);
    INSERT INTO idempotency_keys (user_id, scope, key, fingerprint, status, body, transfer_id)
    VALUES (caller, 'POST /transfers', request, print, 201, body, transfer_id);
    RETURN body;
END $$;
