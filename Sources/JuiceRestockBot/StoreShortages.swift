import JuiceMessages

/// What one store is short of, and the refills on their way to it.
struct StoreShortages {
    struct Shortage {
        let fruit: String
        var level: Int
        /// What an order needed that there was too little for; nil where the level alone is the shortage.
        var needed: Int?
        /// The answer that told of that order, until a refill is sent.
        var toldAt: Int64?
        /// The service has rejected a refill of this fruit alone at this level.
        var isRefused = false
    }

    /// In the order in which they were told.
    var shortages: [Shortage] = []
    /// The refills without an answer, and their fruits; those of another instance are not known.
    var underway: [RefillID: [String]] = [:]
    /// A refill is all or nothing: after a rejection the fruits are sent one by one, so that one that cannot be refilled does
    /// not keep the others empty.
    var refillsSingly = false

    var isOver: Bool { shortages.isEmpty && underway.isEmpty }

    /// The oldest answer that told of a shortage for which nothing was sent yet.
    var toldAt: Int64? { shortages.lazy.compactMap(\.toldAt).min() }

    /// Takes note of a fruit's level.
    mutating func note(level: Int, of fruit: String, rules: RefillRules) {
        guard let index = index(of: fruit) else {
            if level <= rules.low { shortages.append(Shortage(fruit: fruit, level: level)) }
            return
        }
        if level != shortages[index].level { shortages[index].isRefused = false }
        shortages[index].level = level
        if let needed = shortages[index].needed, level >= min(needed, rules.target) {
            shortages[index].needed = nil
            shortages[index].toldAt = nil
        }
        if level > rules.low, shortages[index].needed == nil { shortages.remove(at: index) }
    }

    /// Takes note of an order that was short of a fruit, told by the answer at `offset`.
    mutating func note(level: Int, of fruit: String, needed: Int, at offset: Int64, rules: RefillRules) {
        note(level: level, of: fruit, rules: rules)
        // Above the target nothing is refilled, whatever is ordered.
        guard level < min(needed, rules.target) else { return }
        let index = index(of: fruit) ?? shortages.endIndex
        if index == shortages.endIndex { shortages.append(Shortage(fruit: fruit, level: level)) }
        shortages[index].needed = max(needed, shortages[index].needed ?? 0)
        if !shortages[index].isRefused { shortages[index].toldAt = shortages[index].toldAt ?? offset }
    }

    /// What to send now; empty while the answer to an earlier refill is not there.
    mutating func takeRefill(_ id: RefillID, target: Int) -> [Refill.Entry] {
        guard underway.isEmpty else { return [] }
        let open = shortages.indices.filter { !shortages[$0].isRefused }
        let chosen = refillsSingly ? Array(open.prefix(1)) : open
        guard !chosen.isEmpty else { return [] }
        for index in chosen { shortages[index].toldAt = nil }
        let entries = chosen.map { index in
            let shortage = shortages[index]
            return Refill.Entry(
                fruit: shortage.fruit,
                level: shortage.level,
                amount: target - shortage.level
            )
        }
        underway[id] = entries.map(\.fruit)
        return entries
    }

    /// Takes note that a refill of these fruits has arrived. One that was not known to be on its way was sent by another bot, for
    /// orders that this one has read of again.
    ///
    /// - Returns: whether it was on its way.
    mutating func refilled(_ id: RefillID, _ fruits: [FruitAmount], rules: RefillRules) -> Bool {
        let wasUnderway = underway.removeValue(forKey: id) != nil
        for entry in fruits {
            guard let index = index(of: entry.fruit) else { continue }
            // Orders that were short of it have had their refill. Whether others took it is for the next one to find out.
            shortages[index].needed = nil
            shortages[index].toldAt = nil
            if shortages[index].level > rules.low { shortages.remove(at: index) }
        }
        return wasUnderway
    }

    /// Takes note that the service would not take a refill.
    ///
    /// - Returns: whether it was on its way.
    mutating func rejected(_ id: RefillID) -> Bool {
        guard let fruits = underway.removeValue(forKey: id) else { return false }
        if fruits.count == 1, let index = index(of: fruits[0]) {
            shortages[index].isRefused = true
            shortages[index].toldAt = nil
        } else {
            refillsSingly = true
        }
        return true
    }

    private func index(of fruit: String) -> Int? {
        shortages.firstIndex { $0.fruit.utf8.elementsEqual(fruit.utf8) }
    }
}
