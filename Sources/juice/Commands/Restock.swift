import ArgumentParser
import Foundation
import JuiceDomain
import JuiceMessages

struct RestockCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restock", abstract: "Change a store's stock.",
        discussion: """
            FRUIT=+N adds N, FRUIT=-N removes N, FRUIT=N sets N. One restock either adds or sets, for one or more fruits, \
            all or nothing. A fruit may be given by its id or its name in either language, in any case, with or without spaces.

            Exit status: 0 done (or sent), 3 rejected, 64 no such fruit, 69 no broker or no answer.

            Examples:
              juice restock strawberry=+16 kiwi=-2 --store gangnam --wait
              juice restock mango=30 --wait
              juice restock 딸기=+6
            """
    )

    @Argument(
        help: ArgumentHelp("What to change: FRUIT=+N, FRUIT=-N or FRUIT=N.", valueName: "fruit=amount")) var amounts: [String]

    @Option(CommandKind.restock.newIDHelp, .newCommandID) var restockId: String?
    @OptionGroup var submission: SubmissionOptions
    @OptionGroup var client: ClientOptions

    func run() throws {
        let id = restockId ?? UUID().uuidString.lowercased()
        let amounts = try RestockAmounts(amounts, on: submission.menu.load())
        try submission.submit(.restock(id: id, store: submission.store, amounts.kind, amounts.amounts), client)
    }
}

/// The amounts on `juice restock`'s command line: `FRUIT=+N` and `FRUIT=-N` add, `FRUIT=N` and `FRUIT==N` set.
struct RestockAmounts {
    let kind: StockEdit.Kind
    private(set) var amounts: [FruitAmount] = []

    init(_ arguments: [String], on menu: Menu) throws(Failure) {
        var kinds: Set<StockEdit.Kind> = []
        for argument in arguments {
            guard let match = argument.wholeMatch(of: /([^=]+)=(=?)([+-]?[0-9]+)/), let amount = Int(match.3) else {
                throw Failure(
                    .usage, "\"\(argument)\" is not FRUIT=+N, FRUIT=-N or FRUIT=N",
                    hint: "for example strawberry=+16 adds 16, kiwi=-2 takes 2 away, mango=30 sets 30")
            }
            kinds.insert(match.2.isEmpty && match.3.first?.isNumber == false ? .add : .set)
            let fruit = try menu.fruitID(for: String(match.1))
            guard !amounts.contains(where: { $0.fruit == fruit }) else {
                throw Failure(.usage, "\(fruit) is given twice")
            }
            amounts.append(FruitAmount(fruit: fruit, amount: amount))
        }
        guard let kind = kinds.first else { throw Failure(.usage, "a restock names at least one fruit") }
        guard kinds.count == 1 else {
            throw Failure(
                .usage, "a restock either adds (FRUIT=+N, FRUIT=-N) or sets (FRUIT=N), not both", hint: "send two restocks")
        }
        self.kind = kind
    }
}
