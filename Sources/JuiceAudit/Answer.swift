/// The members that every answer begins with, in their order.
struct Answer {
    let type: Int
    let isDuplicate: Bool
    let kind: CommandKind
    let id: Int
    let store: Int
    let offset: Int64
    /// Where its command was forwarded from.
    let from: Int?
    /// The next member.
    private let rest: Int

    /// Nil if the object does not begin with them.
    init?(_ json: JSONReader) {
        var index = 1
        func member(_ name: StaticString, _ kind: JSONReader.Kind) -> Int? {
            guard index < json.tokens.count, json.isName(index, name), json.tokens[index + 1].kind == kind else { return nil }
            index += 2
            return index - 1
        }
        guard let type = member("type", .string) else { return nil }
        isDuplicate = member("duplicate", .yes) != nil
        let order = member("orderId", .string)
        guard let id = order ?? member("restockId", .string), let store = member("store", .string),
            let offset = member("offset", .integer), 0..<Int.max ~= json.tokens[offset].integer
        else { return nil }
        (self.type, self.id, self.store, self.offset) = (type, id, store, Int64(json.tokens[offset].integer))
        from = member("from", .string)
        rest = index
        let isOfCancel = json.isType("cancelled") || member("cancel", .yes) != nil
        kind = order == nil ? .restock : isOfCancel ? .cancel : .order
    }

    /// What the answer says between these members and the message, as written; nil if it does not end with a message.
    func text(_ json: JSONReader) -> UnsafeBufferPointer<UInt8>? {
        var (member, before) = (rest, rest - 1)
        while member < json.tokens.count, json.tokens[member + 1].next < json.tokens.count {
            (member, before) = (json.tokens[member + 1].next, member + 1)
        }
        guard member < json.tokens.count, json.isName(member, "message"), json.string(member + 1)?.isEmpty == false else {
            return nil
        }
        return json.written(after: rest - 1, through: before)
    }

    /// Stands for what a repeat of the answer must say, too: its type, and all that follows.
    func contents(_ json: JSONReader) -> UInt64 {
        var digest = Digest()
        digest.add(json.text(type))
        digest.add(json.written(after: rest - 1, through: 0))
        return digest.value
    }
}

extension JSONReader {
    /// The fruits of a member and their amounts, as far as there can be such.
    func amounts(_ name: StaticString, _ menu: AuditMenu) -> [AuditMenu.Amount] {
        guard let object = value(name), tokens[object].kind == .object else { return [] }
        var amounts: [AuditMenu.Amount] = []
        forEachMember(of: object) { name, value in
            if let fruit = menu.fruit(text(name)), let amount = integer(value), Contract.levels.contains(amount) {
                amounts.append(AuditMenu.Amount(fruit: fruit, amount: amount))
            }
            return true
        }
        return amounts
    }

    /// The state in which the answer claims to have left a store.
    func claimed(from before: StoreState, _ menu: AuditMenu) -> StoreState {
        let left = amounts("left", menu)
        guard value("duplicate") == nil else { return before }
        var claimed = before
        claimed.revision = integer("revision") ?? before.revision.map { left.isEmpty ? $0 : $0 &+ 1 }
        for part in left { claimed.levels[part.fruit] = part.amount }
        return claimed
    }
}
