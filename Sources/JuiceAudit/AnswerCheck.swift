/// Compares the answer that a reader has just read with what its command must result in.
struct AnswerCheck {
    let json: JSONReader
    let menu: AuditMenu
    var versions = AuditRules.Versions.current

    /// The first difference; nil if the answer says exactly this and no more.
    func difference(from outcome: Outcome, before: StoreState, after: StoreState) -> String? {
        guard isType(outcome.type) else {
            return text("type", Array(outcome.type.description.utf8)) ?? "it has no type"
        }
        let message = json.value("message").flatMap(json.string)
        if message?.isEmpty ?? true { return "it has no message" }
        // The type, the id, the store and the message.
        let common = 4
        var own: Int
        let difference: String?
        switch outcome {
        case .juiceMade(let made):
            own = members(of: made.form) + 2
            difference = order(made) ?? amounts("used", made.needs) ?? left(made.needs, after)
        case .outOfStock(let refused):
            own = members(of: refused.form) + 2
            difference = order(refused) ?? missing(refused, before.levels)
        case .restocked(let entries):
            own = 1
            difference = left(entries, after)
        case .cancelled(let returned):
            own = 2
            difference = amounts("returned", returned) ?? left(returned, after)
        case .rejected(let reason):
            own = 1
            difference = self.reason(reason)
        }
        if let difference { return difference }
        if outcome.isChange, hasRevision || versions == .current {
            own += 1
            if let difference = revision(after.revision) { return difference }
        }
        let count = json.memberCount()
        return count == common + own ? nil : "it has \(count) members"
    }

    /// Whether the answer names its store's revision. Versions of the service before baskets do not.
    var hasRevision: Bool {
        if case .absent = json.member("revision") { false } else { true }
    }

    /// Whether the answer refuses for this reason.
    func isRejected(_ reason: RejectionReason) -> Bool {
        isType("rejected") && self.reason(reason) == nil
    }

    func isType(_ type: StaticString) -> Bool {
        json.value("type").flatMap(json.string).map { isSame($0, type) } ?? false
    }

    /// The state in which the answer claims to have left a store; nil if it does not speak of the stock.
    ///
    /// - Parameters:
    ///   - before: the state before the command.
    ///   - expected: the levels of the fruits that the answer does not name, if it claims a change.
    func claimed(from before: StoreState, _ expected: Levels) -> StoreState? {
        guard let left = json.value("left"), json.tokens[left].kind == .object else { return nil }
        guard json.memberCount(of: left) > 0 else { return before }
        var claimed = StoreState(
            levels: expected,
            revision: before.revision.map { $0 + 1 },
            unknown: before.unknown
        )
        if let revision = json.value("revision").flatMap(json.integer) { claimed.revision = revision }
        json.forEachMember(of: left) { name, value in
            let name = json.text(name)
            if let fruit = menu.fruit(name),
                let level = json.integer(value), Contract.levels.contains(level)
            {
                claimed.levels[fruit] = level
            }
            return true
        }
        return claimed
    }

    /// How many members name what was ordered.
    private func members(of form: Order.Form) -> Int { form == .single ? 2 : 1 }

    private func order(_ order: Order) -> String? {
        switch order.form {
        case .single: item(order.items[0], of: 0)
        case .basket: items(order.items)
        }
    }

    private func items(_ items: [Order.Item]) -> String? {
        guard let array = json.value("items"), json.tokens[array].kind == .array else {
            return "it has no items"
        }
        let elements = json.elements(of: array)
        guard elements.count == items.count else {
            return "it has \(elements.count) items, should have \(items.count)"
        }
        for (element, expected) in zip(elements, items) {
            if let difference = item(expected, of: element) { return difference }
            if json.memberCount(of: element) != 2 { return "an item has more than it should" }
        }
        return nil
    }

    private func item(_ item: Order.Item, of object: Int) -> String? {
        text("juice", menu.juices[item.juice].id, of: object)
            ?? integer("quantity", item.quantity, of: object)
    }

    private func left(_ changed: [AuditMenu.Amount], _ after: StoreState) -> String? {
        amounts("left", changed.map { AuditMenu.Amount(fruit: $0.fruit, amount: after.levels[$0.fruit]) })
    }

    /// - Parameter expected: nil if the store's revision is not known.
    private func revision(_ expected: Int?) -> String? {
        let said = json.value("revision").flatMap(json.integer)
        if let difference = integer("revision", expected ?? said ?? 1) { return difference }
        // A member's name is the token before its value.
        let isInPlace = json.value("revision") == json.value("left").map { json.tokens[$0].next + 1 }
        return isInPlace ? nil : "its revision is not right after its left"
    }

    private func reason(_ reason: RejectionReason) -> String? {
        guard let value = json.value("reason"), let text = json.string(value) else {
            return "it has no reason"
        }
        let expected = reason.rawValue
        return text.elementsEqual(expected.utf8)
            ? nil : "its reason is \(quoted(text)), should be \(quoted(expected.utf8))"
    }

    private func text(_ name: StaticString, _ expected: [UInt8], of object: Int = 0) -> String? {
        guard let value = json.value(name, of: object), let text = json.string(value) else {
            return "it has no \(name)"
        }
        return isSame(text, expected) ? nil : "its \(name) is \(quoted(text)), should be \(quoted(expected))"
    }

    private func integer(_ name: StaticString, _ expected: Int, of object: Int = 0) -> String? {
        guard let value = json.value(name, of: object), json.tokens[value].kind == .integer else {
            return "it has no \(name)"
        }
        let number = json.tokens[value].integer
        return number == expected ? nil : "its \(name) is \(number), should be \(expected)"
    }

    /// Compares an object of fruits, including their order.
    func amounts(_ name: StaticString, _ expected: [AuditMenu.Amount]) -> String? {
        guard let object = json.value(name), json.tokens[object].kind == .object else {
            return "it has no \(name)"
        }
        var position = 0
        var difference: String?
        json.forEachMember(of: object) { key, value in
            let key = json.text(key)
            if position < expected.count, isSame(key, menu.fruits[expected[position].fruit].id) {
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
            return "its \(name) lacks \(quoted(menu.fruits[expected[position].fruit].id))"
        }
        return difference
    }

    private func missing(_ order: Order, _ levels: Levels) -> String? {
        let short = order.needs.filter { levels[$0.fruit] < $0.amount }
        guard let array = json.value("missing"), json.tokens[array].kind == .array else {
            return "it has no missing"
        }
        var element = array + 1
        for (position, part) in short.enumerated() {
            guard element < json.tokens[array].next, json.tokens[element].kind == .object else {
                return "its missing lacks \(quoted(menu.fruits[part.fruit].id))"
            }
            let difference =
                fruit(part.fruit, of: element)
                ?? integer("needed", part.amount, of: element)
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
        let expected = menu.fruits[fruit].id
        return isSame(text, expected) ? nil : "its fruit is \(quoted(text)), should be \(quoted(expected))"
    }
}
