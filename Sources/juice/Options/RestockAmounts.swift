import JuiceMaker
import JuiceMessages

/// The amounts on `juice restock`'s command line: `FRUIT=+N` and `FRUIT=-N` add, `FRUIT=N` and `FRUIT==N` set.
struct RestockAmounts: Equatable {
    let kind: StockEdit.Kind
    let amounts: [FruitAmount]
}

extension RestockAmounts {
    /// Parses the arguments. It does not look up the fruits.
    ///
    /// - Throws: ``Failure`` of status ``Failure/Status/usage``.
    init(_ arguments: [String]) throws(Failure) {
        var kinds: [StockEdit.Kind] = []
        var amounts: [FruitAmount] = []
        for argument in arguments {
            let (kind, amount) = try Self.parse(argument)
            guard !amounts.contains(where: { $0.fruit == amount.fruit }) else {
                throw Failure(.usage, "\(amount.fruit.printable) is given twice")
            }
            kinds.append(kind)
            amounts.append(amount)
        }
        guard let kind = kinds.first else { throw Failure(.usage, "a restock names at least one fruit") }
        guard kinds.allSatisfy({ $0 == kind }) else {
            throw Failure(
                .usage, "a restock either adds (FRUIT=+N, FRUIT=-N) or sets (FRUIT=N), not both", hint: "send two restocks")
        }
        self.init(kind: kind, amounts: amounts)
    }

    /// The same amounts with the fruits' names replaced by their ids.
    func resolved(by names: MenuNames) throws(Failure) -> RestockAmounts {
        var resolved: [FruitAmount] = []
        for entry in amounts {
            let fruit = try names.fruit(entry.fruit)
            guard !resolved.contains(where: { $0.fruit == fruit }) else { throw Failure(.usage, "\(fruit) is given twice") }
            resolved.append(FruitAmount(fruit: fruit, amount: entry.amount))
        }
        return RestockAmounts(kind: kind, amounts: resolved)
    }

    private static func parse(_ argument: String) throws(Failure) -> (StockEdit.Kind, FruitAmount) {
        let malformed = Failure(
            .usage, "\"\(argument.printable)\" is not FRUIT=+N, FRUIT=-N or FRUIT=N",
            hint: "for example strawberry=+16 adds 16, kiwi=-2 takes 2 away, mango=30 sets 30")
        guard let equals = argument.firstIndex(of: "="), equals > argument.startIndex else { throw malformed }
        let fruit = String(argument[..<equals])
        var number = argument[argument.index(after: equals)...]
        var kind = StockEdit.Kind.set
        switch number.first {
        case "+", "-": kind = .add
        case "=": number = number.dropFirst()
        default: break
        }
        guard number.last?.isNumber == true, let amount = Int(number) else { throw malformed }
        return (kind, FruitAmount(fruit: fruit, amount: amount))
    }
}
