/// Compares the answer that a reader has just read with what its command must result in.
struct AnswerCheck {
    let json: JSONReader

    /// The first difference; nil if the answer says exactly this and no more.
    func difference(from outcome: Outcome, before: Levels, after: Levels) -> String? {
        if let difference = text("type", outcome.type) { return difference }
        let message = json.value("message").flatMap(json.string)
        if message?.isEmpty ?? true { return "it has no message" }
        // The type, the id, the store and the message.
        let common = 4
        let own: Int
        let difference: String?
        switch outcome {
        case .juiceMade(let juice, let quantity):
            let recipe = Contract.juices[juice].recipe
            own = 4
            difference =
                order(juice, quantity)
                ?? amounts("used", recipe.map { ($0.fruit, $0.amount * quantity) })
                ?? amounts("left", recipe.map { ($0.fruit, after[$0.fruit]) })
        case .outOfStock(let juice, let quantity):
            own = 4
            difference = order(juice, quantity) ?? missing(juice, quantity, before)
        case .restocked(let entries):
            own = 1
            difference = amounts("left", entries.map { ($0.fruit, after[$0.fruit]) })
        case .rejected(let reason):
            own = 1
            difference = self.reason(reason)
        }
        if let difference { return difference }
        let count = json.memberCount()
        return count == common + own ? nil : "it has \(count) members"
    }

    func isType(_ type: StaticString) -> Bool {
        json.value("type").flatMap(json.string).map { isSame($0, type) } ?? false
    }

    /// The levels that the answer claims to have left; nil if it claims no change.
    func claimed(from levels: Levels) -> Levels? {
        guard let left = json.value("left"), json.tokens[left].kind == .object else { return nil }
        var claimed = levels
        json.forEachMember(of: left) { name, value in
            let name = json.text(name)
            if let fruit = Contract.fruits.firstIndex(where: { isSame(name, $0) }),
                let level = json.integer(value), Contract.levels.contains(level)
            {
                claimed[fruit] = level
            }
            return true
        }
        return claimed
    }

    private func order(_ juice: Int, _ quantity: Int) -> String? {
        text("juice", Contract.juices[juice].id) ?? integer("quantity", quantity)
    }

    private func reason(_ reason: RejectionReason) -> String? {
        guard let value = json.value("reason"), let text = json.string(value) else {
            return "it has no reason"
        }
        let expected = reason.rawValue
        return text.elementsEqual(expected.utf8)
            ? nil : "its reason is \(quoted(text)), should be \(quoted(expected.utf8))"
    }

    private func text(_ name: StaticString, _ expected: StaticString) -> String? {
        guard let value = json.value(name), let text = json.string(value) else { return "it has no \(name)" }
        return isSame(text, expected) ? nil : "its \(name) is \(quoted(text)), should be \"\(expected)\""
    }

    private func integer(_ name: StaticString, _ expected: Int, of object: Int = 0) -> String? {
        guard let value = json.value(name, of: object), json.tokens[value].kind == .integer else {
            return "it has no \(name)"
        }
        let number = json.tokens[value].integer
        return number == expected ? nil : "its \(name) is \(number), should be \(expected)"
    }

    /// Compares an object of fruits, including their order.
    func amounts(_ name: StaticString, _ expected: [(fruit: Int, amount: Int)]) -> String? {
        guard let object = json.value(name), json.tokens[object].kind == .object else {
            return "it has no \(name)"
        }
        var position = 0
        var difference: String?
        json.forEachMember(of: object) { key, value in
            let key = json.text(key)
            if position < expected.count, isSame(key, Contract.fruits[expected[position].fruit]) {
                let amount = json.integer(value)
                if amount != expected[position].amount {
                    let said = amount.map(String.init) ?? "no number"
                    difference =
                        "its \(name) of \(quoted(key)) is \(said), should be \(expected[position].amount)"
                }
            } else {
                difference = "its \(name) names \(quoted(key)) where it should not"
            }
            position += 1
            return difference == nil
        }
        if difference == nil, position < expected.count {
            return "its \(name) lacks \"\(Contract.fruits[expected[position].fruit])\""
        }
        return difference
    }

    private func missing(_ juice: Int, _ quantity: Int, _ levels: Levels) -> String? {
        let short = Contract.juices[juice].recipe.filter { levels[$0.fruit] < $0.amount * quantity }
        guard let array = json.value("missing"), json.tokens[array].kind == .array else {
            return "it has no missing"
        }
        var element = array + 1
        for (position, part) in short.enumerated() {
            guard element < json.tokens[array].next, json.tokens[element].kind == .object else {
                return "its missing lacks \"\(Contract.fruits[part.fruit])\""
            }
            let difference =
                fruit(part.fruit, of: element)
                ?? integer("needed", part.amount * quantity, of: element)
                ?? integer("inStock", levels[part.fruit], of: element)
                ?? (position == 0 ? fruit(part.fruit, of: 0) : nil)
            if let difference { return difference }
            if json.memberCount(of: element) != 3 { return "its missing has more than it should" }
            element = json.tokens[element].next
        }
        return element == json.tokens[array].next ? nil : "its missing names a fruit that is not short"
    }

    private func fruit(_ fruit: Int, of object: Int) -> String? {
        guard let value = json.value("fruit", of: object), let text = json.string(value) else {
            return "it has no fruit"
        }
        let expected = Contract.fruits[fruit]
        return isSame(text, expected) ? nil : "its fruit is \(quoted(text)), should be \"\(expected)\""
    }
}

extension JSONReader {
    /// Whether this document, an answer given again, has the members of the first, `duplicate` apart.
    func repeats(_ first: JSONReader) -> Bool {
        var other = 1
        var isSame = true
        forEachMember(of: 0) { name, value in
            if JuiceAudit.isSame(text(name), "duplicate") { return true }
            isSame =
                other < first.tokens[0].next && JuiceAudit.isSame(text(name), first.text(other))
                && isValue(value, sameAs: other + 1, of: first)
            if isSame { other = first.tokens[other + 1].next }
            return isSame
        }
        return isSame && other == first.tokens[0].next
    }

    private func isValue(_ value: Int, sameAs otherValue: Int, of other: JSONReader) -> Bool {
        let length = tokens[value].next - value
        guard other.tokens[otherValue].next - otherValue == length else { return false }
        return (0..<length).allSatisfy { step in
            let (mine, its) = (tokens[value + step], other.tokens[otherValue + step])
            guard mine.kind == its.kind, mine.next - value == its.next - otherValue else { return false }
            switch mine.kind {
            case .string, .integer, .number:
                return JuiceAudit.isSame(text(value + step), other.text(otherValue + step))
            case .object, .array, .yes, .no, .null: return true
            }
        }
    }
}
