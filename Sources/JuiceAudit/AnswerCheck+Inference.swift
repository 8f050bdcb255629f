// Levels that no record has told, since the answers from before have expired, follow from what the next answer says of them.

extension AnswerCheck {
    /// The state before an answered command, with the unknown levels as the answer has them. What it does not tell is so that
    /// the answer can be right.
    func completed(_ state: StoreState, by task: Command.Task) -> StoreState {
        guard state.revision == nil || !state.unknown.isEmpty else { return state }
        var state = state
        if state.revision == nil {
            state.revision = json.value("revision").flatMap(json.integer).map { $0 - 1 }
        }
        let amounts: [AuditMenu.Amount]
        let sign: Int
        switch task {
        case .make(let order): (amounts, sign) = (order.needs, 1)
        case .add(let added): (amounts, sign) = (added, -1)
        case .putBack(let returned): (amounts, sign) = (returned, -1)
        case .set, .reject: return state
        }
        for part in amounts where state.unknown.contains(part.fruit) {
            let (before, overflows) = (left(of: part.fruit) ?? 0).addingReportingOverflow(sign * part.amount)
            let level = left(of: part.fruit) == nil ? inStock(of: part.fruit) ?? part.amount : before
            state.levels[part.fruit] = overflows || !Contract.levels.contains(level) ? 0 : level
        }
        return state
    }

    /// Why an answer refuses a change whose levels are not known, which cannot be judged.
    func unjudgedReason(_ state: StoreState, _ task: Command.Task) -> RejectionReason? {
        let amounts: [AuditMenu.Amount]
        switch task {
        case .add(let parts), .putBack(let parts): amounts = parts
        case .make, .set, .reject: return nil
        }
        guard amounts.contains(where: { state.unknown.contains($0.fruit) }) else { return nil }
        return [.wouldGoNegative, .wouldOverflow].first(where: isRejected)
    }

    /// A state without the unknown levels that the answer tells.
    func told(_ state: StoreState) -> StoreState {
        guard !state.unknown.isEmpty else { return state }
        var state = state
        state.unknown.removeAll { left(of: $0) != nil || inStock(of: $0) != nil }
        return state
    }

    /// What the answer says it returned.
    var returned: [AuditMenu.Amount] {
        guard let object = json.value("returned"), json.tokens[object].kind == .object else { return [] }
        var returned: [AuditMenu.Amount] = []
        json.forEachMember(of: object) { name, value in
            if let fruit = menu.fruit(json.text(name)), let amount = json.integer(value),
                Contract.levels.contains(amount)
            {
                returned.append(AuditMenu.Amount(fruit: fruit, amount: amount))
            }
            return true
        }
        return returned
    }

    private func left(of fruit: Int) -> Int? {
        guard let left = json.value("left"), json.tokens[left].kind == .object else { return nil }
        var level: Int?
        json.forEachMember(of: left) { name, value in
            if isSame(json.text(name), menu.fruits[fruit].id) { level = json.integer(value) }
            return level == nil
        }
        return level
    }

    private func inStock(of fruit: Int) -> Int? {
        guard let array = json.value("missing"), json.tokens[array].kind == .array else { return nil }
        let element = json.elements(of: array).first { element in
            json.value("fruit", of: element).flatMap(json.string).map { isSame($0, menu.fruits[fruit].id) }
                ?? false
        }
        return element.flatMap { json.value("inStock", of: $0) }.flatMap(json.integer)
    }
}
